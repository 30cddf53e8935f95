import type { Captures } from '@webcapture/shared/captures/captures.ts';
import type { IdempotencyEntry, IdempotencyKeys, KeptAnswer } from './idempotency-keys.ts';
import { isOpen } from '@webcapture/shared/captures/transitions.ts';
import { uuidV7 } from '@webcapture/shared/captures/uuid.ts';
import type { FollowUps } from '@webcapture/shared/queue/follow-ups.ts';
import { backoffMs, delay, withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import { answerOfRecord, type AnswerOptions } from './answer.ts';
import { canonical, sha256 } from './cache-key.ts';
import { findState } from './capture-state.ts';
import type { WaitClock } from '../http/request-facts.ts';
import { callNats, callTimeoutMs } from '../nats.ts';

/**
 * What became of a request with an Idempotency-Key: the first one, answered as an earlier one, answered as one that it
 * waited for, refused for another body, or begun in the place of one that brought no answer.
 */
export type IdempotencyResult = 'first' | 'replayed' | 'waited' | 'mismatch' | 'taken_over';

interface IdempotencyDeps {
  readonly keys: IdempotencyKeys;
  readonly captures: Pick<Captures, 'get' | 'fail'>;
  readonly followUps: Pick<FollowUps, 'arrange'>;
  readonly count: (result: IdempotencyResult) => void;
  /** Unix ms, by the server's clock: leases of other fronts lapse by it. */
  readonly now: () => number;
  readonly log: Logger;
}

/** A request, once its API key has been verified. */
interface IdempotentRequest {
  readonly account: string;
  /** The Idempotency-Key; undefined: the request stands for itself. */
  readonly key: string | undefined;
  /** After defaults. */
  readonly body: unknown;
  /** How this request is answered when the capture of an earlier one has ended. */
  readonly view: AnswerOptions;
  readonly clientGone: AbortSignal;
  readonly wait: WaitClock;
}

/** The request gets the lease and answers, or is answered as an earlier one was; or its client has gone. */
export type IdempotencyTurn =
  | { readonly kind: 'lease'; readonly lease: IdempotencyLease }
  | { readonly kind: 'answered'; readonly answer: KeptAnswer }
  | { readonly kind: 'client-gone' };

/**
 * The right to answer for an Idempotency-Key. Whoever has it names the capture before it begins, says how it ended (by
 * `settle` or `release`), and closes it.
 */
export interface IdempotencyLease {
  /**
   * The uuid to render under: the lease's own, or the one given. A capture that a client waits for has no record until it
   * ends: right before it is queued it is named again, and `lastsMs` tells how long it may take, so that nobody renders
   * in its place meanwhile.
   *
   * @throws LeaseLostError; ServiceError INTERNAL_ERROR when the lease cannot be renewed
   */
  nameCapture(options?: { readonly uuid?: string | undefined; readonly lastsMs?: number }): Promise<string>;
  /** Keeps the answer for later requests. Null: the client went away, and the capture may still end. Never throws. */
  complete(answer: KeptAnswer | null): Promise<void>;
  /** The request failed: makes the key free at once, unless its capture did bring an answer. Never throws. */
  release(): Promise<void>;
  /** Renews the lease no longer. */
  close(): void;
}

/** Another request answers for the key now: nothing may be begun under it. */
export class LeaseLostError extends Error {}

/** An answer that is there does not wait for longer than this to be kept. */
const keepTimeoutMs = 2000;

/** A lease whose capture has no record lapses so long after the last sign of its front: that one has died. */
const leaseTtlMs = 15_000;

const renewIntervalMs = leaseTtlMs / 3;

const unavailable = 'The Idempotency-Key cannot be looked up right now.';

/** Answers all requests of an account with the same Idempotency-Key as the first one, on whichever fronts they are. */
export class Idempotency {
  readonly #deps: IdempotencyDeps;

  constructor(deps: IdempotencyDeps) {
    this.#deps = deps;
  }

  /**
   * The lease on the key of a request, or the answer of an earlier request with that key, which is waited for. When that
   * one fails, or dies before its capture has a record, the lease passes on.
   *
   * @throws ServiceError VALIDATION_ERROR for another body under the same key, INTERNAL_ERROR when the key cannot be
   *   looked up
   */
  async acquire({ key, ...request }: IdempotentRequest): Promise<IdempotencyTurn> {
    const { account, clientGone, wait } = request;
    const { keys, now, count } = this.#deps;
    if (key === undefined) return { kind: 'lease', lease: leaseWithoutKey(now) };
    const bodyHash = sha256(canonical(request.body));
    let hasWaited = false;
    let failed: string | undefined;
    for (let attempt = 1; !clientGone.aborted; attempt++) {
      const wanted = { bodyHash, claim: { uuid: uuidV7(now()), until: now() + leaseTtlMs } };
      const entry = await callNats(() => keys.acquire(account, key, wanted, failed), unavailable);
      if (entry.bodyHash !== bodyHash) {
        count('mismatch');
        throw new ServiceError(
          'VALIDATION_ERROR',
          'This Idempotency-Key was sent with another body in the last 24 hours. Send another key with another body.',
        );
      }
      const { uuid } = entry.claim;
      if (uuid === wanted.claim.uuid) {
        count(failed === undefined && !hasWaited ? 'first' : 'taken_over');
        return { kind: 'lease', lease: new KeyLease(this.#deps, { account, key, uuid }) };
      }
      const found = await this.#find(request, key, entry);
      if (found === 'none') {
        failed = uuid;
        continue;
      }
      if (found !== null) {
        count(hasWaited ? 'waited' : 'replayed');
        return { kind: 'answered', answer: found };
      }
      hasWaited = true;
      await wait.during(delay(backoffMs(attempt, 50, 2000), clientGone));
    }
    return { kind: 'client-gone' };
  }

  /** The answer of the request that has the lease; null while it is under way; `none` when it will not bring any. */
  async #find(
    { account, view }: Omit<IdempotentRequest, 'key'>,
    key: string,
    { answer, claim }: IdempotencyEntry,
  ): Promise<KeptAnswer | 'none' | null> {
    if (answer !== null) return answer;
    const record = await findState(this.#deps, account, claim.uuid);
    if (record === null) return claim.until < this.#deps.now() ? 'none' : null;
    const found = answerOfRecord(record, view);
    if (found !== null) {
      await keep(this.#deps, { account, key, uuid: claim.uuid }, found);
      return found;
    }
    return isOpen(record) ? null : 'none';
  }
}

/** A key under which a capture is named. */
interface LeasedKey {
  readonly account: string;
  readonly key: string;
  readonly uuid: string;
}

/** A lease that is kept in NATS, and renewed until it is closed. */
class KeyLease implements IdempotencyLease {
  readonly #deps: Pick<IdempotencyDeps, 'keys' | 'captures' | 'now' | 'log'>;
  readonly #closed = new AbortController();
  #leased: LeasedKey;
  #lastsUntil = 0;

  constructor(deps: Pick<IdempotencyDeps, 'keys' | 'captures' | 'now' | 'log'>, leased: LeasedKey) {
    this.#deps = deps;
    this.#leased = leased;
    void this.#renew();
  }

  async nameCapture({
    uuid = this.#leased.uuid,
    lastsMs = 0,
  }: { readonly uuid?: string | undefined; readonly lastsMs?: number } = {}): Promise<string> {
    const name = async () => {
      this.#lastsUntil = this.#deps.now() + lastsMs;
      // Also under its own uuid: a front that was paused may have lost the lease without knowing.
      if (!(await this.#write(uuid))) throw new LeaseLostError();
      this.#leased = { ...this.#leased, uuid };
    };
    await callNats(name, unavailable);
    return uuid;
  }

  async complete(answer: KeptAnswer | null): Promise<void> {
    if (answer !== null) await keep(this.#deps, this.#leased, answer);
    else await this.#release({ mayEnd: this.#lastsUntil > this.#deps.now() });
  }

  release(): Promise<void> {
    return this.#release({ mayEnd: false });
  }

  close(): void {
    this.#closed.abort();
  }

  /** `mayEnd`: a capture may be under way, which has no record before it ends. */
  async #release({ mayEnd }: { readonly mayEnd: boolean }): Promise<void> {
    const { captures, keys, log } = this.#deps;
    const { account, key, uuid } = this.#leased;
    const release = async () => {
      const status = (await captures.get(account, uuid))?.value.status;
      if ((status === undefined && !mayEnd) || status === 'failed') await keys.release(account, key, uuid);
    };
    try {
      await callNats(release, unavailable, keepTimeoutMs);
    } catch (error) {
      log.warn({ err: error, uuid, account }, 'an idempotency key could not be released; its lease will lapse');
    }
  }

  async #renew(): Promise<void> {
    while (await delay(renewIntervalMs, this.#closed.signal)) {
      const { uuid } = this.#leased;
      try {
        // The capture may have been named anew meanwhile.
        if (!(await this.#write(uuid)) && uuid === this.#leased.uuid) return;
      } catch (error) {
        this.#deps.log.debug({ err: error, uuid }, 'an idempotency key could not be renewed; trying again');
      }
    }
  }

  /** False when the lease is lost. */
  #write(uuid: string): Promise<boolean> {
    const { keys, now } = this.#deps;
    const { account, key, uuid: current } = this.#leased;
    const claim = { uuid, until: Math.max(this.#lastsUntil, now() + leaseTtlMs) };
    return withDeadline(keys.renew(account, key, current, claim), callTimeoutMs, 'renewing an idempotency key');
  }
}

/** Of a request without a key: there is nothing to keep, and nobody to lose it to. */
const leaseWithoutKey = (now: () => number): IdempotencyLease => ({
  nameCapture: async ({ uuid = uuidV7(now()) } = {}) => uuid,
  complete: async () => undefined,
  release: async () => undefined,
  close: () => undefined,
});

/** An answer that could not be kept is found by its capture. */
async function keep(
  { keys, log }: Pick<IdempotencyDeps, 'keys' | 'log'>,
  { account, key, uuid }: LeasedKey,
  answer: KeptAnswer,
): Promise<void> {
  const kept = { uuid: answer.uuid, region: answer.region, data: answer.data };
  try {
    await callNats(() => keys.keep(account, key, uuid, kept), unavailable, keepTimeoutMs);
  } catch (error) {
    log.warn({ err: error, uuid, account }, 'the answer to an idempotency key could not be kept');
  }
}

/**
 * The Idempotency-Key of a request; undefined without the header.
 *
 * @param values of all headers of that name, as received
 * @throws ServiceError VALIDATION_ERROR
 */
export function readIdempotencyKey(values: readonly string[]): string | undefined {
  const [key] = values;
  if (key === undefined) return undefined;
  if (values.length > 1)
    throw new ServiceError('VALIDATION_ERROR', 'The Idempotency-Key header may be sent only once.');
  if (!/^[\x21-\x7e]{1,255}$/.test(key)) {
    throw new ServiceError(
      'VALIDATION_ERROR',
      'The Idempotency-Key header must be 1 to 255 visible ASCII characters, without spaces.',
    );
  }
  return key;
}
