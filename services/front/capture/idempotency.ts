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
 * How a request with an Idempotency-Key was answered. `first`: it was the first request. `replayed`: with the response of an earlier
 * request. `waited`: likewise, after waiting for that response. `mismatch`: refused, because the body differs. `taken_over`: like the
 * first, because the earlier request has ended without a response.
 */
export type IdempotencyResult = 'first' | 'replayed' | 'waited' | 'mismatch' | 'taken_over';

interface IdempotencyDeps {
  readonly keys: IdempotencyKeys;
  readonly captures: Pick<Captures, 'get' | 'fail'>;
  readonly followUps: Pick<FollowUps, 'schedule'>;
  readonly count: (result: IdempotencyResult) => void;
  /** The server's clock, Unix milliseconds. It determines when leases of other fronts expire. */
  readonly now: () => number;
  readonly log: Logger;
}

/** A request whose API key has been verified. */
interface IdempotentRequest {
  readonly account: string;
  /** The Idempotency-Key; undefined if the request has none. */
  readonly key: string | undefined;
  /** Body after defaults. */
  readonly body: unknown;
  /** Determines the view of the capture of an earlier request. */
  readonly view: AnswerOptions;
  readonly clientGone: AbortSignal;
  readonly wait: WaitClock;
}

/** The request has the lease, or it has the response of an earlier request, or its client has disconnected. */
export type IdempotencyTurn =
  | { readonly kind: 'lease'; readonly lease: IdempotencyLease }
  | { readonly kind: 'answered'; readonly answer: KeptAnswer }
  | { readonly kind: 'client-gone' };

/**
 * The right to determine the response for an Idempotency-Key. The holder names the capture before it queues it, reports the outcome by
 * `complete` or `release`, and closes the lease.
 */
export interface IdempotencyLease {
  /**
   * Stores and returns the uuid of the capture: that of the lease, or the given one. A capture with a waiting client has no
   * record until it ends. Therefore it is named again right before it is queued, with the maximum duration `lastsMs`, so
   * that no other request takes over meanwhile.
   *
   * @throws LeaseLostError; ServiceError INTERNAL_ERROR if the lease cannot be renewed
   */
  nameCapture(options?: { readonly uuid?: string | undefined; readonly lastsMs?: number }): Promise<string>;
  /** Stores the response for later requests. Null means that the client has disconnected, while the capture may still end. Never throws. */
  complete(answer: KeptAnswer | null): Promise<void>;
  /** Frees the key after a failed request, unless its capture has completed. Never throws. */
  release(): Promise<void>;
  /** Stops renewing the lease. */
  close(): void;
}

/** Another request now has the lease on the key. The current request must not start a capture. */
export class LeaseLostError extends Error {}

/** Maximum time that a response is delayed by storing it. */
const keepTimeoutMs = 2000;

/** If a capture has no record this long after the last renewal of its lease, the lease expires, because its front has died. */
const leaseTtlMs = 15_000;

const renewIntervalMs = leaseTtlMs / 3;

export const idempotencyUnavailable = 'The Idempotency-Key cannot be looked up right now.';

/** Gives all requests of an account with the same Idempotency-Key the response of the first one, on whichever front they arrive. */
export class Idempotency {
  readonly #deps: IdempotencyDeps;

  constructor(deps: IdempotencyDeps) {
    this.#deps = deps;
  }

  /**
   * Returns the lease on the key of a request, or waits for the response of an earlier request with that key. If that
   * request fails, or its front dies before its capture has a record, another request gets the lease.
   *
   * @throws ServiceError VALIDATION_ERROR for another body with the same key; INTERNAL_ERROR if the key cannot be
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
      const wanted = { bodyHash, lease: { uuid: uuidV7(now()), until: now() + leaseTtlMs } };
      const entry = await callNats(() => keys.acquire(account, key, wanted, failed), idempotencyUnavailable);
      if (entry.bodyHash !== bodyHash) {
        count('mismatch');
        throw otherBody();
      }
      const { uuid } = entry.lease;
      if (uuid === wanted.lease.uuid) {
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

  /**
   * Returns the response of the request that has the lease; null while that request is in progress; `none` if it has ended without a
   * response.
   */
  async #find(
    { account, view }: Omit<IdempotentRequest, 'key'>,
    key: string,
    { answer, lease }: IdempotencyEntry,
  ): Promise<KeptAnswer | 'none' | null> {
    if (answer !== null) return answer;
    const record = await findState(this.#deps, account, lease.uuid);
    if (record === null) return lease.until < this.#deps.now() ? 'none' : null;
    const found = answerOfRecord(record, view);
    if (found !== null) {
      await keep(this.#deps, { account, key, uuid: lease.uuid }, found);
      return found;
    }
    return isOpen(record) ? null : 'none';
  }
}

/** A key and the uuid of its capture. */
interface LeasedKey {
  readonly account: string;
  readonly key: string;
  readonly uuid: string;
}

/** A lease that is stored in NATS and renewed until it is closed. */
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
      // The entry is written even if the uuid is unchanged, because a front that was paused may have lost the lease without noticing.
      if (!(await this.#write(uuid))) throw new LeaseLostError();
      this.#leased = { ...this.#leased, uuid };
    };
    await callNats(name, idempotencyUnavailable);
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

  /** `mayEnd` means that the capture may be in progress; it has no record before it ends. */
  async #release({ mayEnd }: { readonly mayEnd: boolean }): Promise<void> {
    const { captures, keys, log } = this.#deps;
    const { account, key, uuid } = this.#leased;
    const release = async () => {
      const status = (await captures.get(account, uuid))?.value.status;
      if ((status === undefined && !mayEnd) || status === 'failed') await keys.release(account, key, uuid);
    };
    try {
      await callNats(release, idempotencyUnavailable, keepTimeoutMs);
    } catch (error) {
      log.warn({ err: error, uuid, account }, 'an idempotency key could not be released; its lease expires');
    }
  }

  async #renew(): Promise<void> {
    while (await delay(renewIntervalMs, this.#closed.signal)) {
      const { uuid } = this.#leased;
      try {
        // Another call may have renamed the capture meanwhile.
        if (!(await this.#write(uuid)) && uuid === this.#leased.uuid) return;
      } catch (error) {
        this.#deps.log.debug({ err: error, uuid }, 'an idempotency key could not be renewed; trying again');
      }
    }
  }

  /** Returns false if the lease is lost. */
  #write(uuid: string): Promise<boolean> {
    const { keys, now } = this.#deps;
    const { account, key, uuid: current } = this.#leased;
    const lease = { uuid, until: Math.max(this.#lastsUntil, now() + leaseTtlMs) };
    return withDeadline(keys.renew(account, key, current, lease), callTimeoutMs, 'renewing an idempotency key');
  }
}

/** Returns the error of a request whose key was sent with another body. */
export const otherBody = () =>
  new ServiceError(
    'VALIDATION_ERROR',
    'This Idempotency-Key was sent with another body in the last 24 hours. Use a new key for another body.',
  );

/** The lease of a request without a key: nothing is stored. */
const leaseWithoutKey = (now: () => number): IdempotencyLease => ({
  nameCapture: async ({ uuid = uuidV7(now()) } = {}) => uuid,
  complete: async () => undefined,
  release: async () => undefined,
  close: () => undefined,
});

/** Stores the response. If that fails, later requests find the response through the record of the capture. */
async function keep(
  { keys, log }: Pick<IdempotencyDeps, 'keys' | 'log'>,
  { account, key, uuid }: LeasedKey,
  answer: KeptAnswer,
): Promise<void> {
  const kept = { uuid: answer.uuid, region: answer.region, data: answer.data };
  try {
    await callNats(() => keys.keep(account, key, uuid, kept), idempotencyUnavailable, keepTimeoutMs);
  } catch (error) {
    log.warn({ err: error, uuid, account }, 'the response to an idempotency key could not be stored');
  }
}

/**
 * Returns the Idempotency-Key of a request; undefined if the request has no such header.
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
