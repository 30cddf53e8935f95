import type { CachePlace } from '../contract/capture-job.ts';
import type { CaptureRecord } from '../contract/capture-record.ts';
import type { NatsSession } from '../nats/connect.ts';
import { Entries, type Entry } from '../nats/entries.ts';
import { compareAndSet, type CallLimits } from '../nats/retry.ts';

/** A capture that answers for all equal ones until `until` (Unix ms): its time to live, or its file's, is over then. */
interface CachedCapture {
  readonly record: CaptureRecord;
  readonly until: number;
}

/** The capture that renders for all equal ones; without a word from it the claim lapses at `until` (Unix ms). */
export interface CacheClaim {
  readonly uuid: string;
  readonly until: number;
}

/** What is kept under one name. The claim on the next capture leaves the one that is there in its place. */
export interface CacheEntry {
  readonly done: CachedCapture | null;
  readonly claim: CacheClaim | null;
}

const nothing: CacheEntry = { done: null, claim: null };

/**
 * Cached captures by account and name, changed by compare-and-set. The server removes an entry when its time is over,
 * and the oldest ones when the bucket is full. Throws what the server answers, or its absence.
 */
export class Cache {
  readonly #entries: Entries;
  readonly #now: () => number;

  constructor(session: NatsSession) {
    this.#now = session.now;
    this.#entries = new Entries(session, 'cache');
  }

  /** What stands under the name now. */
  async get(account: string, name: string, now: number = this.#now()): Promise<CacheEntry> {
    return standing((await this.#entries.get<CacheEntry>(key(account, name)))?.value, now);
  }

  /**
   * Makes a capture the one that renders for all equal ones, unless there is an answer no older than `maxAge` seconds
   * or a claim of another one, but for `instead` (a uuid), which is known to have ended. Returns what stands afterwards:
   * the capture leads if the claim is its own.
   */
  async claim(
    account: string,
    name: string,
    claim: CacheClaim,
    terms: { readonly maxAge: number; readonly instead?: string | undefined },
    now: number = this.#now(),
  ): Promise<CacheEntry> {
    return this.#change(account, name, now, (entry) => {
      const isTaken = entry.claim !== null && entry.claim.uuid !== terms.instead;
      return isTaken || answers(entry, terms.maxAge, now) ? null : { ...entry, claim };
    });
  }

  /** Puts the end of a capture's own claim off; one that it does not have any more stays as it is. */
  async extend(account: string, name: string, { uuid, until }: CacheClaim, now: number = this.#now()): Promise<void> {
    await this.#change(account, name, now, (entry) =>
      entry.claim?.uuid === uuid && entry.claim.until < until ? { ...entry, claim: { uuid, until } } : null,
    );
  }

  /** Puts a completed capture there. A newer one stays; so does the claim of another capture. */
  async fill(
    account: string,
    place: CachePlace,
    record: CaptureRecord,
    now: number = this.#now(),
    limits?: CallLimits,
  ): Promise<void> {
    const until = Math.min(capturedAt(record) + place.ttl * 1000, record.expiresAt);
    const next = (entry: CacheEntry) => {
      const claim = entry.claim?.uuid === record.uuid ? null : entry.claim;
      const isNewer = entry.done === null || capturedAt(entry.done.record) <= capturedAt(record);
      return { done: isNewer && until > now ? { record, until } : entry.done, claim };
    };
    await this.#change(account, place.name, now, next, limits);
  }

  /** Gives up the claim of a capture that failed. */
  async release(account: string, name: string, uuid: string, now: number = this.#now()): Promise<void> {
    await this.#change(account, name, now, (entry) => (entry.claim?.uuid === uuid ? { ...entry, claim: null } : null));
  }

  /** Removes an answer whose file is gone. */
  async drop(account: string, name: string, uuid: string, now: number = this.#now()): Promise<void> {
    await this.#change(account, name, now, (entry) =>
      entry.done?.record.uuid === uuid ? { ...entry, done: null } : null,
    );
  }

  /** Compare-and-set until it holds; `next` answers null to leave the entry as it is. Returns what stands afterwards. */
  async #change(
    account: string,
    name: string,
    now: number,
    next: (entry: CacheEntry) => CacheEntry | null,
    limits?: CallLimits,
  ): Promise<CacheEntry> {
    return compareAndSet(async () => {
      const found = await this.#entries.get<CacheEntry>(key(account, name));
      const entry = standing(found?.value, now);
      const wanted = next(entry);
      if (wanted === null) return entry;
      await this.#write(key(account, name), wanted, found, now);
      return wanted;
    }, limits);
  }

  async #write(name: string, { done, claim }: CacheEntry, found: Entry<CacheEntry> | null, now: number): Promise<void> {
    const until = Math.max(done?.until ?? 0, claim?.until ?? 0);
    if (until <= now) {
      if (found !== null) await this.#entries.delete(name, found.revision);
      return;
    }
    const ttlSeconds = Math.max(1, Math.ceil((until - now) / 1000));
    if (found === null) await this.#entries.create(name, { done, claim }, { ttlSeconds });
    else await this.#entries.update(name, { done, claim }, found.revision, { ttlSeconds });
  }
}

/** The subjects of all entries (core NATS): where every change can be heard of. */
export const cacheSubjects = '$KV.cache.>';

export const cacheSubject = (account: string, name: string) => `$KV.cache.${key(account, name)}`;

/** The capture that answers a request which takes none older than `maxAge` seconds, or null. */
export function answers({ done }: CacheEntry, maxAge: number, now: number): CaptureRecord | null {
  if (done === null || done.until <= now) return null;
  return now - capturedAt(done.record) <= maxAge * 1000 ? done.record : null;
}

const key = (account: string, name: string) => `${account}.${name}`;

const capturedAt = ({ outcome, acceptedAt }: CaptureRecord) => outcome?.capturedAt ?? acceptedAt;

/** What of an entry has not lapsed. */
function standing(entry: CacheEntry | undefined, now: number): CacheEntry {
  if (entry === undefined) return nothing;
  const { done, claim } = entry;
  return {
    done: done !== null && done.until > now ? done : null,
    claim: claim !== null && claim.until > now ? claim : null,
  };
}
