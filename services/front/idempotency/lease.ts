import { uuidV7 } from '@webcapture/shared/captures/uuid.ts';
import { backoffMs, delay, withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import type { WaitClock } from '../http/request-facts.ts';
import { callNats, callTimeoutMs } from '../nats.ts';
import type { IdempotencyEntry, IdempotencyKeys, KeptAnswer } from './keys.ts';

/**
 * How a request with an Idempotency-Key was answered. `first`: it was the first request. `replayed`: with the response of an earlier
 * request. `waited`: with that response, after waiting for it. `mismatch`: refused, because the body differs. `taken_over`: like the first
 * request, because the earlier request has ended without a response.
 */
export type IdempotencyResult = 'first' | 'replayed' | 'waited' | 'mismatch' | 'taken_over';

interface IdempotencyDeps {
  readonly keys: IdempotencyKeys;
  readonly count: (result: IdempotencyResult) => void;
  /** The server's clock, Unix milliseconds. It determines when leases of other fronts expire. */
  readonly now: () => number;
  readonly log: Logger;
}

/** A request whose API key has been verified. */
export interface KeyedRequest {
  readonly account: string;
  /** The Idempotency-Key; undefined if the request has none. */
  readonly key: string | undefined;
  /** Returns the SHA-256 of the body after defaults. Called only for a request with a key. */
  readonly hashBody: () => string;
  readonly clientGone: AbortSignal;
  readonly wait: WaitClock;
}

/** Finds the work of a key, a capture or a batch, by the uuid in the lease. */
export interface KeyedWork<T> {
  /** Looks up the work of an earlier request with the key. `keep` stores the response for later requests. */
  find(entry: IdempotencyEntry, keep: (answer: KeptAnswer) => Promise<void>): Promise<EarlierWork<T>>;
  /** Returns whether the work of a failed request can no longer give a response. `mayEnd`: it may be in progress without a record. */
  isGone(uuid: string, mayEnd: boolean): Promise<boolean>;
}

/**
 * State of the work of an earlier request: answered, or abandoned by a front that died. Null while the work is in progress; `none` if it
 * ended without a response.
 */
type EarlierWork<T> =
  { readonly kind: 'answered'; readonly answer: T } | { readonly kind: 'abandoned'; readonly work: T } | 'none' | null;

/** The request has the lease, or it has the response of an earlier request, or its client has disconnected. */
export type IdempotencyTurn<T> =
  | { readonly kind: 'lease'; readonly lease: IdempotencyLease; readonly abandoned?: T }
  | { readonly kind: 'answered'; readonly answer: T }
  | { readonly kind: 'client-gone' };

/**
 * The right to determine the response for an Idempotency-Key. The holder names the capture or the batch before it begins, reports
 * its outcome by `complete` or `release`, and closes the lease.
 */
export interface IdempotencyLease {
  /**
   * Stores and returns the uuid of the work, by default the uuid in the lease. An interactive capture has no record until it
   * ends. The lease is therefore renewed right before the capture is queued, for its maximum duration `lastsMs`. No other
   * request can take over during that time.
   *
   * @throws LeaseLostError; ServiceError INTERNAL_ERROR if the lease cannot be renewed
   */
  renew(options?: { readonly uuid?: string | undefined; readonly lastsMs?: number }): Promise<string>;
  /** Stores the response for later requests. Null: the client has disconnected, and the capture may still complete. Never throws. */
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
   * request fails, or its front dies, another request gets the lease.
   *
   * @throws ServiceError VALIDATION_ERROR for another body with the same key; INTERNAL_ERROR if the key cannot be
   *   looked up
   */
  async acquire<T>(request: KeyedRequest, work: KeyedWork<T>): Promise<IdempotencyTurn<T>> {
    const { account, key, clientGone, wait } = request;
    const { keys, now, count } = this.#deps;
    if (key === undefined) return { kind: 'lease', lease: leaseWithoutKey(now) };
    const bodyHash = request.hashBody();
    const leaseOf = (uuid: string) => new KeyLease(this.#deps, { account, key, uuid }, work);
    let hasWaited = false;
    let failed: string | undefined;
    for (let attempt = 1; !clientGone.aborted; attempt++) {
      const wanted = { bodyHash, lease: { uuid: uuidV7(now()), until: now() + leaseTtlMs } };
      const entry = await callNats(() => keys.acquire(account, key, wanted, failed), idempotencyUnavailable);
      if (entry.bodyHash !== bodyHash) {
        count('mismatch');
        throw new ServiceError(
          'VALIDATION_ERROR',
          'This Idempotency-Key was sent with another body in the last 24 hours. Use a new key for another body.',
        );
      }
      const { uuid } = entry.lease;
      if (uuid === wanted.lease.uuid) {
        count(failed === undefined && !hasWaited ? 'first' : 'taken_over');
        return { kind: 'lease', lease: leaseOf(uuid) };
      }
      const found = await work.find(entry, (answer) => keep(this.#deps, { account, key, uuid }, answer));
      if (found === 'none') {
        failed = uuid;
        continue;
      }
      if (found?.kind === 'answered') {
        count(hasWaited ? 'waited' : 'replayed');
        return found;
      }
      if (found?.kind === 'abandoned') {
        count('taken_over');
        return { kind: 'lease', lease: leaseOf(uuid), abandoned: found.work };
      }
      hasWaited = true;
      await wait.during(delay(backoffMs(attempt, 50, 2000), clientGone));
    }
    return { kind: 'client-gone' };
  }
}

/** A key and the uuid of its work. */
interface LeasedKey {
  readonly account: string;
  readonly key: string;
  readonly uuid: string;
}

/** A lease that is stored in NATS and renewed until it is closed. */
class KeyLease implements IdempotencyLease {
  readonly #deps: IdempotencyDeps;
  readonly #work: KeyedWork<unknown>;
  readonly #closed = new AbortController();
  #leased: LeasedKey;
  #lastsUntil = 0;

  constructor(deps: IdempotencyDeps, leased: LeasedKey, work: KeyedWork<unknown>) {
    this.#deps = deps;
    this.#leased = leased;
    this.#work = work;
    void this.#keepRenewing();
  }

  async renew({
    uuid = this.#leased.uuid,
    lastsMs = 0,
  }: { readonly uuid?: string | undefined; readonly lastsMs?: number } = {}): Promise<string> {
    const renew = async () => {
      this.#lastsUntil = this.#deps.now() + lastsMs;
      // The entry is written even if the uuid is unchanged. If this front was paused, the lease may have expired, and the write then fails.
      if (!(await this.#write(uuid))) throw new LeaseLostError();
      this.#leased = { ...this.#leased, uuid };
    };
    await callNats(renew, idempotencyUnavailable);
    return uuid;
  }

  async complete(answer: KeptAnswer | null): Promise<void> {
    if (answer !== null) await keep(this.#deps, this.#leased, answer);
    else await this.#release(this.#lastsUntil > this.#deps.now());
  }

  release(): Promise<void> {
    return this.#release(false);
  }

  close(): void {
    this.#closed.abort();
  }

  /** @param mayEnd whether the capture may be in progress; it has no record before it ends */
  async #release(mayEnd: boolean): Promise<void> {
    const { keys, log } = this.#deps;
    const { account, key, uuid } = this.#leased;
    const release = async () => {
      if (await this.#work.isGone(uuid, mayEnd)) await keys.release(account, key, uuid);
    };
    try {
      await callNats(release, idempotencyUnavailable, keepTimeoutMs);
    } catch (error) {
      log.warn({ err: error, uuid, account }, 'an idempotency key could not be released; its lease expires');
    }
  }

  async #keepRenewing(): Promise<void> {
    while (await delay(renewIntervalMs, this.#closed.signal)) {
      const { uuid } = this.#leased;
      try {
        // If `renew` has changed the uuid during the write, the lease is not lost.
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

/** The lease of a request without a key: nothing is stored. */
const leaseWithoutKey = (now: () => number): IdempotencyLease => ({
  renew: async ({ uuid = uuidV7(now()) } = {}) => uuid,
  complete: async () => undefined,
  release: async () => undefined,
  close: () => undefined,
});

/** Stores the response. If that fails, later requests find the response through the record of the capture. */
async function keep(
  { keys, log }: IdempotencyDeps,
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
