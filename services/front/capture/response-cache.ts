import {
  answers,
  type Cache,
  type CacheEntry,
  cacheSubject,
  cacheSubjects,
  type LeaseState,
} from '@webcapture/shared/captures/cache.ts';
import {
  type CacheKey,
  type CaptureRecord,
  type CaptureFailure,
  toError,
} from '@webcapture/shared/captures/capture-record.ts';
import type { Captures } from '@webcapture/shared/captures/captures.ts';
import { isOpen } from '@webcapture/shared/captures/transitions.ts';
import { uuidV7 } from '@webcapture/shared/captures/uuid.ts';
import type { FileStore } from '@webcapture/shared/files/file-store.ts';
import { isTransient } from '@webcapture/shared/nats/api-errors.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { delay, withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import type { Authenticator, Caller } from '../auth/authenticator.ts';
import type { WaitClock } from '../http/request-facts.ts';
import { WatchedReadCache } from '../read-cache.ts';

/** How a request that may use the cache was answered: from the cache, by waiting for an equal capture, or by its own capture. */
export type CacheResult = 'hit' | 'followed' | 'miss';

interface ResponseCacheDeps {
  readonly session: NatsSession;
  readonly cache: Cache;
  readonly authenticator: Authenticator;
  readonly captures: Captures;
  readonly store: FileStore;
  readonly count: (result: CacheResult) => void;
  readonly log: Logger;
}

/** A request whose API key has been verified. */
interface CacheRequest {
  readonly account: string;
  /** If undefined, the request does not use the cache. */
  readonly key: CacheKey | undefined;
  /** Result of {@link ResponseCache.candidate}. */
  readonly candidate: CaptureRecord | null;
  /** Whether a capture can answer only if its file exists. */
  readonly wantsFile: boolean;
  readonly clientGone: AbortSignal;
  readonly wait: WaitClock;
}

/** A capture answers the request, or the request has the lease on its key and renders, or its client has disconnected. */
export type CacheTurn =
  | { readonly kind: 'found'; readonly record: CaptureRecord }
  | { readonly kind: 'lease'; readonly lease: CacheLease | null }
  | { readonly kind: 'client-gone' };

/** The right to render for all equal requests. It ends when it is released, when it expires, or when its capture has completed. */
interface CacheLease {
  /** UUID of the capture. Other requests find the capture by it. */
  readonly uuid: string;
  readonly key: CacheKey;
  /**
   * Extends the lease when the job is queued. From then on the capture ends within `lastsMs`, even if this front dies. The write is not
   * awaited: if the lease expires, the only cost is a second rendering.
   */
  extend(lastsMs: number): void;
  /** Releases the lease, so that followers need not wait for its expiry. The write is not awaited. */
  release(): void;
}

/** Maximum age of cached entries, even if no write was reported. */
const maxAgeMs = 1000;

/** Entries take about 3 KB each. */
const maxEntries = 10_000;

/** After this time, a look-up counts as a miss. */
const lookupTimeoutMs = 1500;

/**
 * A lease expires if its capture is not queued within this time, because the front has probably died. If the front is alive, the only cost
 * is a second rendering.
 */
const leaseTtlMs = 10_000;

/** Number of failed captures after which a follower fails with the last failure. */
const maxFailures = 2;

/**
 * Interval of reads of the entry and the record, in case the notification of a write was lost. The first read is early, because a
 * notification can arrive before the write is readable. Each further interval is twice as long.
 */
const pollIntervalMs = { first: 50, last: 2000 };

/** Time after the deadline of a capture in which its record is settled. */
const settleTimeoutMs = 3000;

const callTimeoutMs = 4000;

/** How following a capture has ended. `over` means that the capture was cancelled, its front died, or the capture is unknown. */
type FollowEnd =
  | { readonly kind: 'completed'; readonly record: CaptureRecord }
  | { readonly kind: 'failed'; readonly failure: CaptureFailure }
  | { readonly kind: 'over' | 'client-gone' };

/** Answers equal requests of an account with one capture, from the cache or by waiting for the capture in progress. */
export class ResponseCache {
  readonly #deps: ResponseCacheDeps;
  readonly #recent: WatchedReadCache<CacheEntry>;

  constructor(deps: ResponseCacheDeps) {
    this.#deps = deps;
    this.#recent = new WatchedReadCache(deps.session, cacheSubjects(), {
      maxAgeMs,
      maxEntries,
      isKept: ({ done }) => done !== null,
    });
  }

  /**
   * Returns a cached capture that may answer the request. The account is that of the caller or of the token in the Authorization header.
   * The API key must be verified before the result is disclosed. Returns null if NATS is unavailable.
   */
  async candidate(
    { authorization, caller }: { readonly authorization: string | undefined; readonly caller?: Caller },
    key: CacheKey | undefined,
  ): Promise<CaptureRecord | null> {
    if (key === undefined) return null;
    try {
      const lookUp = () =>
        withDeadline(this.#deps.authenticator.accountOf(authorization), lookupTimeoutMs, 'looking up a key');
      const account = caller?.account.id ?? (await lookUp());
      if (account === null) return null;
      const entry = await this.#recent.get(cacheSubject(account, key.name), () =>
        withDeadline(this.#deps.cache.get(account, key.name), lookupTimeoutMs, 'reading the cache'),
      );
      return answers(entry, key.ttl, this.#deps.session.now());
    } catch (error) {
      if (!isTransient(error)) throw error;
      return null;
    }
  }

  /**
   * Returns the candidate, or the capture of an equal request that is in progress on any front. Otherwise returns the lease to render, or
   * null in its place if the request does not use the cache. If the capture that others follow fails, one of the followers gets the lease.
   * If the capture of that follower fails too, the others fail with the same error.
   *
   * @throws ServiceError the failure of the followed captures
   */
  async acquire(request: CacheRequest): Promise<CacheTurn> {
    const { account, key, candidate, clientGone, wait } = request;
    if (key === undefined) return { kind: 'lease', lease: null };
    if (candidate?.account === account && (await this.#isWhole(candidate, request, key))) {
      return this.#found(candidate, 'hit');
    }
    const now = () => this.#deps.session.now();
    let isFollower = false;
    let ended: string | undefined;
    for (let failures = 0; ;) {
      const uuid = uuidV7(now());
      const entry = await this.#requestLease(account, key, uuid, ended);
      const answer = entry === null ? null : answers(entry, key.ttl, now());
      if (answer !== null) {
        if (await this.#isWhole(answer, request, key)) return this.#found(answer, isFollower ? 'followed' : 'hit');
        continue;
      }
      const leased = entry?.lease ?? null;
      if (leased === null || leased.uuid === uuid) {
        this.#deps.count('miss');
        return { kind: 'lease', lease: this.#lease(account, key, uuid) };
      }
      isFollower = true;
      const end = await wait.during(this.#follow(account, key, leased, clientGone));
      if (end.kind === 'client-gone') return { kind: 'client-gone' };
      if (end.kind === 'completed') {
        if (await this.#isWhole(end.record, request, key)) return this.#found(end.record, 'followed');
      } else if (end.kind === 'failed' && ++failures >= maxFailures) {
        throw toError(end.failure);
      }
      ended = leased.uuid;
    }
  }

  /** Returns the candidate if it may answer. Used for requests that neither follow other captures nor render for them. */
  hit(candidate: CaptureRecord | null, account: string): CaptureRecord | null {
    if (candidate?.account !== account) return null;
    this.#deps.count('hit');
    return candidate;
  }

  /** Requests the lease and returns the current entry. Returns null if the cache is unavailable; the capture is then rendered. */
  async #requestLease(
    account: string,
    key: CacheKey,
    uuid: string,
    instead: string | undefined,
  ): Promise<CacheEntry | null> {
    const lease = { uuid, until: this.#deps.session.now() + leaseTtlMs };
    try {
      const requested = this.#deps.cache.acquire(account, key.name, lease, { maxAge: key.ttl, instead });
      return await withDeadline(requested, lookupTimeoutMs, 'acquiring a lease in the cache');
    } catch (error) {
      this.#deps.log.warn({ err: error }, 'the response cache could not be used; the capture is rendered');
      return null;
    }
  }

  #lease(account: string, key: CacheKey, uuid: string): CacheLease {
    const { cache, session, log } = this.#deps;
    return {
      uuid,
      key,
      extend: (lastsMs) => {
        cache.extend(account, key.name, { uuid, until: session.now() + lastsMs }).catch((error: unknown) => {
          log.debug({ err: error, uuid }, 'a lease in the cache could not be extended');
        });
      },
      release: () => {
        cache.release(account, key.name, uuid).catch((error: unknown) => {
          log.debug({ err: error, uuid }, 'a lease in the cache could not be released');
        });
      },
    };
  }

  #found(record: CaptureRecord, result: CacheResult): CacheTurn {
    this.#deps.count(result);
    return { kind: 'found', record };
  }

  /** Returns whether the file exists, if the request needs it. If the file does not exist, drops the entry. */
  async #isWhole({ uuid, fileName }: CaptureRecord, request: CacheRequest, key: CacheKey): Promise<boolean> {
    if (!request.wantsFile || (await this.#deps.store.stat(fileName)) !== null) return true;
    await this.#deps.cache.drop(request.account, key.name, uuid);
    return false;
  }

  /**
   * Waits for the end of the capture that has the lease. The entry reports the end immediately, from any front. The record decides, because
   * the entry may be lost.
   */
  async #follow(account: string, key: CacheKey, leased: LeaseState, clientGone: AbortSignal): Promise<FollowEnd> {
    let wake = new AbortController();
    let waitMs = pollIntervalMs.first;
    let leasedUntil = leased.until;
    const wakeUp = () => {
      waitMs = pollIntervalMs.first;
      wake.abort();
    };
    const stopListening = this.#recent.onWrite(cacheSubject(account, key.name), wakeUp);
    clientGone.addEventListener('abort', wakeUp);
    try {
      while (!clientGone.aborted) {
        wake = new AbortController();
        const seen = await this.#look(account, key, leased);
        if ('kind' in seen) return seen;
        // The front of the capture extends the lease when it is queued.
        if (seen.lease !== null) ({ until: leasedUntil } = seen.lease);
        if (this.#deps.session.now() >= leasedUntil + settleTimeoutMs) return { kind: 'over' };
        await delay(waitMs, wake.signal);
        waitMs = Math.min(2 * waitMs, pollIntervalMs.last);
      }
      return { kind: 'client-gone' };
    } finally {
      stopListening();
      clientGone.removeEventListener('abort', wakeUp);
    }
  }

  /** Returns how the capture has ended. While it is in progress, returns its lease, or null if the lease could not be read. */
  async #look(
    account: string,
    key: CacheKey,
    leased: LeaseState,
  ): Promise<FollowEnd | { readonly lease: LeaseState | null }> {
    const { cache, captures, session } = this.#deps;
    const entry = await unlessUnavailable(cache.get(account, key.name), 'reading the cache');
    const answer = entry === undefined ? null : answers(entry, key.ttl, session.now());
    if (answer !== null) return { kind: 'completed', record: answer };
    const found = await unlessUnavailable(captures.get(account, leased.uuid), 'reading a capture');
    const lease = entry?.lease?.uuid === leased.uuid ? entry.lease : null;
    if (found === undefined) return { lease };
    // An interactive capture has no record until it ends.
    if (found === null) return entry !== undefined && lease === null ? { kind: 'over' } : { lease };
    const record = found.value;
    if (isOpen(record)) return { lease };
    if (record.failure !== undefined && record.failure.cancelled !== true) {
      return { kind: 'failed', failure: record.failure };
    }
    return record.status === 'completed' ? { kind: 'completed', record } : { kind: 'over' };
  }
}

/** Returns the result of the read; undefined if the read fails because NATS is unavailable. */
async function unlessUnavailable<T>(reading: Promise<T>, what: string): Promise<T | undefined> {
  try {
    return await withDeadline(reading, callTimeoutMs, what);
  } catch (error) {
    if (!isTransient(error)) throw error;
    return undefined;
  }
}
