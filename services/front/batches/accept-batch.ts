import type { BatchRequest } from '@webcapture/shared/api/batch.ts';
import { type BatchRecord, type BatchRefusal, isAccepted } from '@webcapture/shared/captures/batch-record.ts';
import type { Batches } from '@webcapture/shared/captures/batches.ts';
import type { Captures } from '@webcapture/shared/captures/captures.ts';
import { backgroundWaitMs, dispatchAfterMs } from '@webcapture/shared/captures/times.ts';
import { timeOfUuid, uuidV7 } from '@webcapture/shared/captures/uuid.ts';
import { type ServiceError, toServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import { Semaphore } from '@webcapture/shared/runtime/semaphore.ts';
import type { Tasks } from '@webcapture/shared/queue/tasks.ts';
import type { Statistics } from '@webcapture/shared/statistics/statistics.ts';
import type { Caller } from '../auth/authenticator.ts';
import { sha256 } from '../capture/cache-key.ts';
import type { ResponseCache } from '../capture/response-cache.ts';
import type { RequestFacts } from '../http/request-facts.ts';
import {
  type Idempotency,
  type IdempotencyLease,
  idempotencyUnavailable,
  type KeyedWork,
  LeaseLostError,
  readIdempotencyKey,
} from '../idempotency/lease.ts';
import { callNats } from '../nats.ts';
import { assertSession, type FindSessionDeps } from '../sessions/find-session.ts';
import { type BatchOrder, orderBatch, withIndex } from './batch-rules.ts';
import {
  admitAll,
  parallel,
  queueAll,
  type QueuedOrder,
  queuedOrders,
  type QueueOrdersDeps,
  releaseAll,
} from './queue-orders.ts';

export interface AcceptBatchDeps extends QueueOrdersDeps, FindSessionDeps {
  readonly batches: Batches;
  readonly captures: Captures;
  readonly responseCache: ResponseCache;
  readonly idempotency: Idempotency;
  readonly tasks: Tasks;
  readonly statistics: Statistics;
  readonly log: Logger;
}

/** A request for a batch that satisfies the schema. */
export interface BatchCall {
  readonly body: BatchRequest;
  readonly caller: Caller;
  /** All Idempotency-Key headers, as received. */
  readonly idempotencyKeys: readonly string[];
  readonly clientGone: AbortSignal;
}

export interface AcceptedBatch {
  readonly batch: BatchRecord;
  /** Whether the batch belongs to an earlier request with the same Idempotency-Key. */
  readonly isReplayed: boolean;
}

/** The valid requests of a batch that is about to begin. */
interface NewBatch {
  readonly orders: readonly BatchOrder[];
  readonly webhookUrl: string | undefined;
  readonly lease: IdempotencyLease;
}

/** Time in which a repeated request continues a batch after the front of the first request has died. */
const acceptMs = 10 * 60_000;

/** The record of a batch is kept as long as those of its captures: 90 days after the files. */
const retentionMs = 90 * 86_400_000;

/** Time after the acceptance of a batch with a webhook at which the leader first checks whether the batch has ended. */
const firstLookMs = 1000;

const unavailable = 'The batch cannot be stored right now.';

/**
 * Accepts batches of background captures. All requests are validated, and the limits of the account are reserved for all of them, before
 * the first capture is queued. The record of the batch, which contains the uuids of its captures, is also written before the first capture
 * is queued. If the front dies, a request with the same Idempotency-Key finds the record and queues only the captures without a record.
 */
export class BatchAcceptance {
  readonly #deps: AcceptBatchDeps;

  constructor(deps: AcceptBatchDeps) {
    this.#deps = deps;
  }

  /**
   * Accepts a batch. Returns null if the client disconnects first.
   *
   * @throws ServiceError if a request is invalid, or the account's limits refuse the batch; no capture is accepted in these cases
   */
  async accept(call: BatchCall, facts: RequestFacts): Promise<AcceptedBatch | null> {
    const { body, caller, clientGone } = call;
    const account = caller.account.id;
    const key = readIdempotencyKey(call.idempotencyKeys);
    const orders = await orderBatch(body, caller.account, this.#deps);
    const webhookUrl = body.webhook?.url;
    const hashBody = () => sha256(JSON.stringify(['batch', webhookUrl, ...orders.map(({ hash }) => hash)]));
    const keyed = { account, key, hashBody, clientGone, wait: facts.wait };
    const turn = await this.#deps.idempotency.acquire(keyed, this.#batchOf(account));
    if (turn.kind === 'client-gone') return null;
    if (turn.kind === 'answered') return { batch: turn.answer, isReplayed: true };
    const { lease, abandoned } = turn;
    try {
      if (abandoned === undefined) {
        return { batch: await this.#begin({ orders, webhookUrl, lease }, caller, facts), isReplayed: false };
      }
      await lease.renew();
      return { batch: await this.#continue(abandoned, orders, caller, facts), isReplayed: true };
    } catch (error) {
      // Another request has taken over the Idempotency-Key.
      if (error instanceof LeaseLostError) return await this.accept(call, facts);
      if (abandoned === undefined) await lease.release();
      throw error;
    } finally {
      lease.close();
    }
  }

  /** Finds the batch of an earlier request with the same Idempotency-Key. */
  #batchOf(account: string): KeyedWork<BatchRecord> {
    const { batches, now } = this.#deps;
    return {
      find: async ({ lease }) => {
        const isOver = lease.until < now();
        const batch = await callNats(() => batches.get(account, lease.uuid), idempotencyUnavailable);
        if (batch === null) return isOver ? 'none' : null;
        if (isAccepted(batch, now())) return { kind: 'answered', answer: batch };
        return isOver ? { kind: 'abandoned', work: batch } : null;
      },
      // The record of a batch that was not accepted has been removed.
      isGone: async () => true,
    };
  }

  /** @throws ServiceError SESSION_NOT_FOUND, with the index of the first request with such a session */
  async #assertSessions(orders: readonly BatchOrder[], { account }: Caller): Promise<void> {
    const checked = new Set<string>();
    for (const [index, { accepted }] of orders.entries()) {
      const { session } = accepted.options;
      if (session === undefined || checked.has(session)) continue;
      checked.add(session);
      await assertSession(accepted.options, account.id, this.#deps).catch((error: unknown) => {
        throw withIndex(error, index);
      });
    }
  }

  /** @throws LeaseLostError if another request has taken over the Idempotency-Key; then no capture is queued */
  async #begin({ orders, webhookUrl, lease }: NewBatch, caller: Caller, facts: RequestFacts): Promise<BatchRecord> {
    const { batches, tasks, statistics, now, metrics } = this.#deps;
    const { account, key } = caller;
    await this.#assertSessions(orders, caller);
    const uuid = await lease.renew();
    const hits = await this.#findHits(orders, caller);
    const captures = orders.map((_, index) => hits.get(index) ?? uuidV7(now()));
    const queued = queuedOrders(orders, captures).filter(({ index }) => !hits.has(index));
    const reserved = await admitAll(queued, caller, facts, this.#deps);

    const lifetimeMs = Math.max(...orders.map(({ accepted }) => accepted.lifetimeMs));
    const batch: BatchRecord = {
      uuid,
      account: account.id,
      captures,
      ...(hits.size === 0 ? {} : { cached: [...hits.keys()] }),
      acceptUntil: (timeOfUuid(uuid) ?? 0) + acceptMs,
      ...(webhookUrl === undefined ? {} : { webhook: { url: webhookUrl, state: 'waiting', attempts: 0 } }),
      keepUntil: (timeOfUuid(uuid) ?? 0) + backgroundWaitMs + lifetimeMs + retentionMs,
    };
    try {
      if (webhookUrl !== undefined) {
        // The leader checks the batch even if this front dies.
        await callNats(() => tasks.schedule(lookAt(batch), now() + dispatchAfterMs), unavailable);
      }
      await callNats(() => batches.create(batch), unavailable);
      // The record is written before this renewal. If another request takes over the key before the renewal, the renewal fails. If it takes
      // over later, it finds the record.
      await lease.renew({ uuid });
    } catch (error) {
      await releaseAll(reserved);
      await this.#remove(batch);
      throw error;
    }
    for (const index of hits.keys()) {
      statistics.hit(account.id, key.id);
      const format = orders[index]?.accepted.options.format ?? 'png';
      metrics.capture({ outcome: 'completed', cause: 'none', region: 'none', format });
    }
    const refused = await queueAll(batch, reserved, caller, this.#deps);
    const [first] = refused.values();
    if (first !== undefined && refused.size === orders.length) {
      await this.#remove(batch);
      throw first;
    }
    return this.#finish(batch, refused);
  }

  /** Continues a batch whose front has died. A capture that the limits refuse now fails. */
  async #continue(
    batch: BatchRecord,
    orders: readonly BatchOrder[],
    caller: Caller,
    facts: RequestFacts,
  ): Promise<BatchRecord> {
    const { captures } = this.#deps;
    const { account, cached = [] } = batch;
    const turns = new Semaphore(parallel);
    const find = ({ uuid }: QueuedOrder) => turns.run(() => callNats(() => captures.get(account, uuid), unavailable));
    const wanted = queuedOrders(orders, batch.captures).filter(({ index }) => !cached.includes(index));
    const found = await Promise.all(wanted.map(find));
    const missing = wanted.filter((_, position) => found[position] === null);
    let refused: ReadonlyMap<number, ServiceError>;
    try {
      refused = await queueAll(batch, await admitAll(missing, caller, facts, this.#deps), caller, this.#deps);
    } catch (error) {
      const refusal = toServiceError(error);
      refused = new Map(missing.map(({ index }) => [index, refusal]));
    }
    return this.#finish(batch, refused);
  }

  /** Returns the uuids of captures in the cache that answer requests of the batch, by the index of the request. */
  async #findHits(orders: readonly BatchOrder[], caller: Caller): Promise<ReadonlyMap<number, string>> {
    const { responseCache } = this.#deps;
    const turns = new Semaphore(parallel);
    const hits = new Map<number, string>();
    const find = async ({ accepted: { cacheKey } }: BatchOrder, index: number) => {
      if (cacheKey === undefined) return;
      const candidate = await turns.run(() => responseCache.candidate({ authorization: undefined, caller }, cacheKey));
      const hit = responseCache.hit(candidate, caller.account.id);
      if (hit !== null) hits.set(index, hit.uuid);
    };
    await Promise.all(orders.map(find));
    return hits;
  }

  /**
   * Records that the batch is accepted. Never throws: the captures are queued already. If the record cannot be changed, they count as
   * accepted after `acceptUntil`.
   */
  async #finish(batch: BatchRecord, failures: ReadonlyMap<number, ServiceError>): Promise<BatchRecord> {
    const { batches, tasks, now, log } = this.#deps;
    const entries = [...failures].map(([index, { code, message }]): [number, BatchRefusal] => [
      index,
      { code, message },
    ]);
    const refused = entries.length === 0 ? {} : { refused: Object.fromEntries(entries) };
    const finish = (record: BatchRecord) =>
      record.acceptedAt === undefined ? { ...record, ...refused, acceptedAt: now() } : record;
    if (batch.webhook !== undefined) {
      tasks
        .schedule(lookAt(batch), now() + firstLookMs)
        .catch((error: unknown) =>
          log.debug(
            { err: error },
            'the first check of a batch could not be scheduled; the leader checks the batch later',
          ),
        );
    }
    try {
      return (await callNats(() => batches.change(batch, finish), unavailable)) ?? batch;
    } catch (error) {
      log.warn(
        { err: error, batch: batch.uuid },
        'a batch could not be marked as accepted; it counts as accepted after its deadline',
      );
      return finish(batch);
    }
  }

  /** Removes the record of a batch without captures. Never throws: the record would only name captures that do not exist. */
  async #remove(batch: BatchRecord): Promise<void> {
    const { batches, log } = this.#deps;
    await callNats(() => batches.change(batch, () => null), unavailable).catch((error: unknown) =>
      log.warn({ err: error, batch: batch.uuid }, 'the record of a batch without captures could not be removed'),
    );
  }
}

const lookAt = ({ account, uuid }: BatchRecord) => ({ kind: 'batch', account, uuid }) as const;
