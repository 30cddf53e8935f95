import {
  answers,
  type Cache,
  type CacheEntry,
  cacheSubject,
  cacheSubjects,
  type LeaseState,
} from '@webcapture/shared/captures/cache.ts';
import type { CacheKey, CaptureRecord, CaptureFailure } from '@webcapture/shared/captures/capture-record.ts';
import type { Captures } from '@webcapture/shared/captures/captures.ts';
import { toError } from '@webcapture/shared/captures/failure.ts';
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

/** How a request that may be answered from the cache was answered: from it, after an equal capture, or by rendering. */
export type CacheResult = 'hit' | 'followed' | 'miss';

interface ResponseCacheDeps {
  readonly session: NatsSession;
  readonly cache: Cache;
  readonly authenticator: Pick<Authenticator, 'accountOf'>;
  readonly captures: Pick<Captures, 'get'>;
  readonly store: Pick<FileStore, 'stat'>;
  readonly count: (result: CacheResult) => void;
  readonly log: Logger;
}

/** A request, once its API key has been verified. */
interface CacheRequest {
  readonly account: string;
  /** Undefined: neither answered from the cache nor kept there. */
  readonly key: CacheKey | undefined;
  /** What {@link ResponseCache.candidate} found. */
  readonly candidate: CaptureRecord | null;
  /** An answer without its file is none. */
  readonly wantsFile: boolean;
  readonly clientGone: AbortSignal;
  readonly wait: WaitClock;
}

/** A capture that answers the request; or the request renders, with the lease on its key; or its client has gone. */
export type CacheTurn =
  | { readonly kind: 'found'; readonly record: CaptureRecord }
  | { readonly kind: 'lease'; readonly lease: CacheLease | null }
  | { readonly kind: 'client-gone' };

/** The right to render for all equal requests, until it is released, lapses, or the capture of its uuid has completed. */
interface CacheLease {
  /** Of the capture: others find it by that. */
  readonly uuid: string;
  readonly key: CacheKey;
  /**
   * To be called when the job is queued: from then on it ends within `lastsMs`, whatever becomes of this front. Nobody
   * waits for this: a lease that lapses costs a second rendering.
   */
  extend(lastsMs: number): void;
  /** Those who follow need not wait for the lease to lapse. Nobody waits for this. */
  release(): void;
}

/** An entry is not served from memory for longer than this, whatever was heard of it. */
const maxAgeMs = 1000;

/** About 3 KB each. */
const maxEntries = 10_000;

/** Looking an answer up may cost this much before it is a miss. */
const lookupTimeoutMs = 1500;

/**
 * A lease whose capture is not queued within this lapses: its front has died, or something else has come between. It costs
 * a second rendering, no more.
 */
const leaseTtlMs = 10_000;

/** So many captures may fail under a follower before it answers with the last failure. */
const maxFailures = 2;

/**
 * How often the entry and the record are read, in case a write was not heard: the first time soon, since a write may be
 * heard of before it can be read, then ever more rarely.
 */
const pollIntervalMs = { first: 50, last: 2000 };

/** After its deadline somebody settles the record of the capture; for so long it may take. */
const settleTimeoutMs = 3000;

const callTimeoutMs = 4000;

/** How following ended. `over`: the capture was given up without a failure of its own, or its front died, or nothing was heard of it. */
type FollowEnd =
  | { readonly kind: 'completed'; readonly record: CaptureRecord }
  | { readonly kind: 'failed'; readonly failure: CaptureFailure }
  | { readonly kind: 'over' | 'client-gone' };

/** Answers equal requests of an account with one capture: from the cache, or by waiting for the one under way. */
export class ResponseCache {
  readonly #deps: ResponseCacheDeps;
  readonly #recent: WatchedReadCache<CacheEntry>;

  constructor(deps: ResponseCacheDeps) {
    this.#deps = deps;
    this.#recent = new WatchedReadCache(deps.session, cacheSubjects, {
      maxAgeMs,
      maxEntries,
      isKept: ({ done }) => done !== null,
    });
  }

  /**
   * A capture that could answer the request, under the account of the caller, or that the token of the Authorization header belongs to.
   * Whether the API key holds is to be found out before anything of it is told. Never throws for want of NATS: then there
   * is none.
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
   * The capture that answers: the candidate; else that of an equal request that is under way on any front. Else the lease
   * to render it, null where the cache was not asked for. When the capture that was followed fails, one of those who
   * follow it gets the lease; when that one fails too, they fail as it did.
   *
   * @throws ServiceError the failure of the captures that were followed
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
      const leased = entry?.claim ?? null;
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

  /** The candidate, if it may answer: for whoever neither waits for another capture nor has others wait. */
  hit(candidate: CaptureRecord | null, account: string): CaptureRecord | null {
    if (candidate?.account !== account) return null;
    this.#deps.count('hit');
    return candidate;
  }

  /** What stands once the lease was asked for; null when the cache is unavailable: then the capture is rendered all the same. */
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

  /** Whether the file is there, where it is wanted. If not, the entry goes. */
  async #isWhole({ uuid, fileName }: CaptureRecord, request: CacheRequest, key: CacheKey): Promise<boolean> {
    if (!request.wantsFile || (await this.#deps.store.stat(fileName)) !== null) return true;
    await this.#deps.cache.drop(request.account, key.name, uuid);
    return false;
  }

  /**
   * Waits for the end of the capture that has the lease. The entry tells of it at once, on whichever front that is; the
   * record is the truth, also when the entry is lost.
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
        // Its front extends the lease when the capture is queued.
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

  /** How it ended; or, while the capture is under way as far as one can tell, its lease, if that could be read. */
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
    const lease = entry?.claim?.uuid === leased.uuid ? entry.claim : null;
    if (found === undefined) return { lease };
    // A capture that a client waits for has no record until it ends.
    if (found === null) return entry !== undefined && lease === null ? { kind: 'over' } : { lease };
    const record = found.value;
    if (isOpen(record)) return { lease };
    if (record.failure !== undefined && record.failure.cancelled !== true) {
      return { kind: 'failed', failure: record.failure };
    }
    return record.status === 'completed' ? { kind: 'completed', record } : { kind: 'over' };
  }
}

/** Undefined when it cannot be read right now. */
async function unlessUnavailable<T>(reading: Promise<T>, what: string): Promise<T | undefined> {
  try {
    return await withDeadline(reading, callTimeoutMs, what);
  } catch (error) {
    if (!isTransient(error)) throw error;
    return undefined;
  }
}
