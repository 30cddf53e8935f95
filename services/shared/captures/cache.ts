import { changeEntry, Entries } from '../nats/entries.ts';
import type { NatsSession } from '../nats/connect.ts';
import type { CallLimits } from '../nats/retry.ts';
import { keySubject } from '../nats/streams.ts';
import type { CacheKey, CaptureRecord } from './capture-record.ts';

/** A capture that answers equal requests until `until` (Unix ms). That is the end of its time to live, or of its file if that is sooner. */
interface CachedCapture {
  readonly record: CaptureRecord;
  readonly until: number;
}

/** The capture that renders for all equal requests. Its lease expires at `until` (Unix ms) if it is not extended. */
export interface LeaseState {
  readonly uuid: string;
  readonly until: number;
}

/** The entry of a cache key: a capture that answers, and the lease to render the next one. */
export interface CacheEntry {
  readonly done: CachedCapture | null;
  readonly lease: LeaseState | null;
}

/**
 * Cached captures by account and the name of their cache key, changed by compare-and-set. The server removes entries when
 * they expire, and the oldest ones when the bucket is full. Methods throw the errors of NATS.
 */
export class Cache {
  readonly #entries: Entries;
  readonly #now: () => number;

  constructor(session: NatsSession) {
    this.#now = session.now;
    this.#entries = new Entries(session, 'cache');
  }

  /** Returns the current entry. */
  async get(account: string, name: string): Promise<CacheEntry> {
    const found = await this.#entries.get<CacheEntry>(key(account, name));
    return withoutLapsed(found?.value ?? null, this.#now());
  }

  /**
   * Gives a capture the lease to render for all equal captures. Does nothing if an entry that is no older than `maxAge` seconds exists, or
   * if another capture has the lease. A lease of `instead` (a uuid), which is known to have ended, is replaced. Returns the resulting
   * entry: the capture has the lease if the entry names it.
   */
  acquire(
    account: string,
    name: string,
    lease: LeaseState,
    terms: { readonly maxAge: number; readonly instead?: string | undefined },
  ): Promise<CacheEntry> {
    return this.#change(account, name, (entry, now) => {
      const isTaken = entry.lease !== null && entry.lease.uuid !== terms.instead;
      return isTaken || answers(entry, terms.maxAge, now) ? entry : { ...entry, lease };
    });
  }

  /** Extends the lease of a capture if the capture still has it. */
  async extend(account: string, name: string, { uuid, until }: LeaseState): Promise<void> {
    await this.#change(account, name, (entry) =>
      entry.lease?.uuid === uuid && entry.lease.until < until ? { ...entry, lease: { uuid, until } } : entry,
    );
  }

  /** Stores a completed capture. Does not replace a newer capture, and does not remove the lease of another capture. */
  async fill(account: string, { name, ttl }: CacheKey, record: CaptureRecord, limits?: CallLimits): Promise<void> {
    const until = Math.min(capturedAt(record) + ttl * 1000, record.expiresAt);
    const next = ({ done, lease }: CacheEntry, now: number) => {
      const isNewer = done === null || capturedAt(done.record) <= capturedAt(record);
      return {
        done: isNewer && until > now ? { record, until } : done,
        lease: lease?.uuid === record.uuid ? null : lease,
      };
    };
    await this.#change(account, name, next, limits);
  }

  /** Releases the lease of a failed capture. */
  async release(account: string, name: string, uuid: string): Promise<void> {
    await this.#change(account, name, (entry) => (entry.lease?.uuid === uuid ? { ...entry, lease: null } : entry));
  }

  /** Removes a cached capture whose file no longer exists. */
  async drop(account: string, name: string, uuid: string): Promise<void> {
    await this.#change(account, name, (entry) => (entry.done?.record.uuid === uuid ? { ...entry, done: null } : entry));
  }

  /** Changes an entry. `next` gets those parts of it that have not expired. If the result is empty, the entry is removed. */
  async #change(
    account: string,
    name: string,
    next: (entry: CacheEntry, now: number) => CacheEntry,
    limits?: CallLimits,
  ): Promise<CacheEntry> {
    const now = this.#now();
    const change = (stored: CacheEntry | null) => {
      const entry = withoutLapsed(stored, now);
      const wanted = next(entry, now);
      if (wanted === entry) return stored;
      return lastsUntil(wanted) <= now ? null : wanted;
    };
    const ttlSeconds = (entry: CacheEntry) => Math.max(1, Math.ceil((lastsUntil(entry) - now) / 1000));
    return withoutLapsed(await changeEntry(this.#entries, key(account, name), change, ttlSeconds, limits), now);
  }
}

/** Returns a pattern that matches the subjects of all entries, for subscriptions to changes by core NATS. */
export const cacheSubjects = () => keySubject('cache', '>');

export const cacheSubject = (account: string, name: string) => keySubject('cache', key(account, name));

/** Returns the capture that answers a request with this `maxAge` in seconds, or null. */
export function answers({ done }: CacheEntry, maxAge: number, now: number): CaptureRecord | null {
  if (done === null || done.until <= now) return null;
  return now - capturedAt(done.record) <= maxAge * 1000 ? done.record : null;
}

const key = (account: string, name: string) => `${account}.${name}`;

const capturedAt = ({ outcome, acceptedAt }: CaptureRecord) => outcome?.capturedAt ?? acceptedAt;

const lastsUntil = ({ done, lease }: CacheEntry) => Math.max(done?.until ?? 0, lease?.until ?? 0);

function withoutLapsed(entry: CacheEntry | null, now: number): CacheEntry {
  const { done = null, lease = null } = entry ?? {};
  return {
    done: done !== null && done.until > now ? done : null,
    lease: lease !== null && lease.until > now ? lease : null,
  };
}
