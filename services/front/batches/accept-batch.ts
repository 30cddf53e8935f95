import type { BatchRequest } from '@webcapture/shared/api/batch.ts';
import { type BatchRecord, type BatchRefusal, isAccepted } from '@webcapture/shared/captures/batch-record.ts';
import type { Batches } from '@webcapture/shared/captures/batches.ts';
import type { Captures } from '@webcapture/shared/captures/captures.ts';
import { backgroundWaitMs, dispatchAfterMs, reservationMs } from '@webcapture/shared/captures/times.ts';
import { timeOfUuid, uuidV7 } from '@webcapture/shared/captures/uuid.ts';
import { backoffMs, delay } from '@webcapture/shared/runtime/deadline.ts';
import { ServiceError, toServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import { Semaphore } from '@webcapture/shared/runtime/semaphore.ts';
import type { Tasks } from '@webcapture/shared/queue/tasks.ts';
import type { Statistics } from '@webcapture/shared/statistics/statistics.ts';
import { type Admission, type Reservation, withRetryAfter } from '../admission.ts';
import type { CaptureRouteDeps } from '../api/capture.ts';
import type { Caller } from '../auth/authenticator.ts';
import { type AcceptDeps, bytesAddedBy } from '../capture/accept-request.ts';
import type { BackgroundQueue } from '../capture/background-queue.ts';
import { sha256 } from '../capture/cache-key.ts';
import type { IdempotencyKeys } from '../capture/idempotency-keys.ts';
import {
  type IdempotencyResult,
  idempotencyUnavailable,
  otherBody,
  readIdempotencyKey,
} from '../capture/idempotency.ts';
import type { RegionSelector } from '../capture/regions.ts';
import type { ResponseCache } from '../capture/response-cache.ts';
import type { RequestFacts } from '../http/request-facts.ts';
import { callNats } from '../nats.ts';
import { assertSession, type FindSessionDeps } from '../sessions/find-session.ts';
import { type BatchOrder, orderBatch, withIndex } from './batch-rules.ts';

export interface AcceptBatchDeps extends AcceptDeps, FindSessionDeps {
  readonly batches: Pick<Batches, 'get' | 'create' | 'change'>;
  readonly captures: Pick<Captures, 'get'>;
  readonly responseCache: Pick<ResponseCache, 'candidate' | 'hit'>;
  readonly idempotencyKeys: Pick<IdempotencyKeys, 'acquire' | 'renew' | 'release'>;
  readonly countIdempotency: (result: IdempotencyResult) => void;
  readonly admission: Pick<Admission, 'admit'>;
  readonly backgroundQueue: Pick<BackgroundQueue, 'enqueue'>;
  readonly tasks: Pick<Tasks, 'schedule'>;
  readonly regions: Pick<RegionSelector, 'estimatedWaitSeconds'>;
  readonly statistics: Pick<Statistics, 'hit'>;
  readonly metrics: CaptureRouteDeps['metrics'];
  /** Unix milliseconds by the server's clock. */
  readonly now: () => number;
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

/** A key, and the batch of the request that has the lease on the key. */
interface LeasedKey {
  readonly account: string;
  readonly key: string;
  readonly uuid: string;
}

/** A batch before its first capture is queued. */
interface NewBatch {
  readonly uuid: string;
  readonly orders: readonly BatchOrder[];
  readonly webhookUrl: string | undefined;
}

/** A capture of a batch that is queued. */
interface QueuedOrder extends BatchOrder {
  readonly index: number;
  readonly uuid: string;
}

interface ReservedOrder extends QueuedOrder {
  readonly reservation: Reservation;
}

/** Number of captures that are queued, or looked up, concurrently. */
const parallel = 32;

/** Number of captures whose limits are checked together, in one write of the account's limits. */
const admittedAtOnce = 100;

/** After this time, the front queues no further captures of a batch. Their reservations last as long. */
const queueMs = reservationMs;

/** Time in which a repeated request continues a batch after the front of the first request has died. */
const acceptMs = 10 * 60_000;

/** Time after which another request with the same Idempotency-Key takes over, because the front has probably died. */
const leaseMs = 20_000;

const renewIntervalMs = leaseMs / 4;

/** The record of a batch is kept as long as those of its captures: 90 days after the files. */
const retentionMs = 90 * 86_400_000;

/** Time after the acceptance of a batch with a webhook at which the leader first checks whether the batch has ended. */
const firstLookMs = 1000;

const unavailable = 'The batch cannot be stored right now.';

/**
 * Accepts batches of background captures. All requests are validated, and the limits of the account are reserved for all of them, before
 * the first capture is queued. The record of the batch is written before that as well, and contains the uuids of its captures. If the front
 * dies, a request with the same Idempotency-Key finds the record and queues only the captures that have no record yet.
 */
export class BatchAcceptance {
  readonly #deps: AcceptBatchDeps;

  constructor(deps: AcceptBatchDeps) {
    this.#deps = deps;
  }

  /**
   * Accepts a batch. Returns null if the client has disconnected before that.
   *
   * @throws ServiceError the refusal of a request or of the limits; then no capture is accepted
   */
  async accept(call: BatchCall, facts: RequestFacts): Promise<AcceptedBatch | null> {
    const { idempotencyKeys: keys, batches, now, countIdempotency } = this.#deps;
    const { body, caller, clientGone } = call;
    const key = readIdempotencyKey(call.idempotencyKeys);
    const orders = await orderBatch(body, caller.account, this.#deps);
    const webhookUrl = body.webhook?.url;
    if (key === undefined) {
      const batch = await this.#begin({ uuid: uuidV7(now()), orders, webhookUrl }, caller, facts);
      return { batch, isReplayed: false };
    }

    const account = caller.account.id;
    const bodyHash = sha256(JSON.stringify(['batch', webhookUrl, ...orders.map(({ hash }) => hash)]));
    let instead: string | undefined;
    for (let attempt = 1; !clientGone.aborted; attempt++) {
      const uuid = uuidV7(now());
      const wanted = { bodyHash, lease: { uuid, until: now() + leaseMs } };
      const entry = await callNats(() => keys.acquire(account, key, wanted, instead), idempotencyUnavailable);
      if (entry.bodyHash !== bodyHash) {
        countIdempotency('mismatch');
        throw otherBody();
      }
      if (entry.lease.uuid === uuid) {
        countIdempotency(attempt === 1 ? 'first' : 'taken_over');
        const batch = await this.#beginWithKey({ uuid, orders, webhookUrl }, key, caller, facts);
        if (batch !== null) return { batch, isReplayed: false };
        continue;
      }
      const earlier = entry.lease.uuid;
      const isOver = entry.lease.until < now();
      const found = await callNats(() => batches.get(account, earlier), idempotencyUnavailable);
      if (found !== null && isAccepted(found, now())) {
        countIdempotency(attempt === 1 ? 'replayed' : 'waited');
        return { batch: found, isReplayed: true };
      }
      if (found !== null && isOver) {
        countIdempotency('taken_over');
        const work = () => this.#continue(found, orders, caller, facts);
        return { batch: await this.#holding({ account, key, uuid: earlier }, work), isReplayed: true };
      }
      if (isOver) instead = earlier;
      else await facts.wait.during(delay(backoffMs(attempt, 50, 1000), clientGone));
    }
    return null;
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

  /** Returns null if another request has taken over the key; then no capture is queued. */
  async #beginWithKey(wanted: NewBatch, key: string, caller: Caller, facts: RequestFacts): Promise<BatchRecord | null> {
    const { idempotencyKeys: keys, log } = this.#deps;
    const account = caller.account.id;
    const { uuid } = wanted;
    // The lease is renewed after the record was written. Either a request that takes over the key finds the record, or this request notices
    // here that it has lost the key.
    const confirm = () => this.#renew({ account, key, uuid });
    try {
      return await this.#holding({ account, key, uuid }, () => this.#begin(wanted, caller, facts, confirm));
    } catch (error) {
      if (error instanceof KeyLostError) return null;
      await callNats(() => keys.release(account, key, uuid), idempotencyUnavailable).catch((failure: unknown) =>
        log.warn({ err: failure, account }, 'an idempotency key could not be released; its lease expires'),
      );
      throw error;
    }
  }

  /** Renews the lease on a key while `work` runs, so that no other request queues the same captures. */
  async #holding<T>(leased: LeasedKey, work: () => Promise<T>): Promise<T> {
    await this.#renew(leased);
    const renewing = setInterval(() => void this.#renew(leased).catch(() => undefined), renewIntervalMs);
    try {
      return await work();
    } finally {
      clearInterval(renewing);
    }
  }

  /** Returns false if the lease is lost. */
  #renew({ account, key, uuid }: LeasedKey): Promise<boolean> {
    const { idempotencyKeys: keys, now } = this.#deps;
    return callNats(() => keys.renew(account, key, uuid, { uuid, until: now() + leaseMs }), idempotencyUnavailable);
  }

  /** @param mayBegin returns false if another request has the Idempotency-Key */
  async #begin(
    { uuid, orders, webhookUrl }: NewBatch,
    caller: Caller,
    facts: RequestFacts,
    mayBegin: () => Promise<boolean> = async () => true,
  ): Promise<BatchRecord> {
    const { batches, tasks, statistics, now, metrics } = this.#deps;
    const { account, key } = caller;
    await this.#assertSessions(orders, caller);
    const hits = await this.#findHits(orders, caller);
    const captures = orders.map((_, index) => hits.get(index) ?? uuidV7(now()));
    const queued = queuedOrders(orders, captures).filter(({ index }) => !hits.has(index));
    const reserved = await this.#admitAll(queued, caller, facts);

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
      if (!(await mayBegin())) throw new KeyLostError();
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
    const refused = await this.#queueAll(batch, reserved, caller);
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
      refused = await this.#queueAll(batch, await this.#admitAll(missing, caller, facts), caller);
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
   * Reserves what all captures need, or nothing. The batch counts as one request of the rate limit.
   *
   * @throws ServiceError the first refusal
   */
  async #admitAll(
    orders: readonly QueuedOrder[],
    { account }: Caller,
    facts: RequestFacts,
  ): Promise<readonly ReservedOrder[]> {
    const { admission, regions, now } = this.#deps;
    const until = now() + queueMs;
    const admit = async (order: QueuedOrder, position: number) => {
      const { accepted, index, uuid } = order;
      const { tokenCost: tokens, priority, region } = accepted;
      const waitSeconds = regions.estimatedWaitSeconds(region);
      const reserve = { id: uuid, tokens, priority, until, adds: bytesAddedBy(accepted), waitSeconds };
      // The limiter decides in this order, so the rate limit after the first request is that of the batch.
      const isFirst = position === 0;
      try {
        const request = isFirst ? reserve : { ...reserve, unrated: true };
        return { ...order, reservation: await admission.admit(account, request, isFirst ? facts : {}) };
      } catch (error) {
        const isRate = error instanceof ServiceError && error.code === 'RATE_LIMIT_EXCEEDED';
        throw isRate ? error : withIndex(error, index);
      }
    };
    const reserved: ReservedOrder[] = [];
    for (let start = 0; start < orders.length; start += admittedAtOnce) {
      const some = orders.slice(start, start + admittedAtOnce);
      const results = await Promise.allSettled(some.map((order, offset) => admit(order, start + offset)));
      reserved.push(...results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : [])));
      const failed = results.find((result) => result.status === 'rejected');
      if (failed === undefined) continue;
      await releaseAll(reserved);
      throw failed.reason;
    }
    return reserved;
  }

  /** Queues captures, and releases their reservations. Returns the failures by the index of their request. */
  async #queueAll(
    batch: BatchRecord,
    orders: readonly ReservedOrder[],
    { account, key }: Caller,
  ): Promise<ReadonlyMap<number, ServiceError>> {
    const { backgroundQueue, regions, secretsKeys, metrics, now } = this.#deps;
    const { id, isolation } = account;
    const until = Math.min(now() + queueMs, batch.acceptUntil);
    const turns = new Semaphore(parallel);
    const refused = new Map<number, ServiceError>();
    const queue = async ({ accepted, index, uuid, reservation }: ReservedOrder) => {
      const { cacheKey, region, options } = accepted;
      const { format } = options;
      try {
        if (now() > until) throw new ServiceError('INTERNAL_ERROR', 'The capture could not be queued in time.');
        const capture = { uuid, account: id, key: key.id, isolation, cacheKey, batch: batch.uuid, secretsKeys };
        const record = await backgroundQueue.enqueue(accepted, capture);
        metrics.capture({ outcome: 'queued', cause: 'none', region: record.region, format });
      } catch (error) {
        const refusal = toServiceError(withRetryAfter(error, regions.estimatedWaitSeconds(region)));
        refused.set(index, refusal);
        metrics.capture({ outcome: refusal.code, cause: refusal.causedBy, region: 'none', format });
      } finally {
        await reservation.release();
      }
    };
    await Promise.all(orders.map((order) => turns.run(() => queue(order))));
    return refused;
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
      log.warn({ err: error, batch: batch.uuid }, 'the end of the acceptance of a batch could not be stored');
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

/** Another request has taken over the Idempotency-Key. */
class KeyLostError extends Error {}

function queuedOrders(orders: readonly BatchOrder[], uuids: readonly string[]): readonly QueuedOrder[] {
  return orders.flatMap((order, index) => {
    const uuid = uuids[index];
    return uuid === undefined ? [] : [{ ...order, index, uuid }];
  });
}

async function releaseAll(orders: readonly ReservedOrder[]): Promise<void> {
  await Promise.all(orders.map(({ reservation }) => reservation.release()));
}
