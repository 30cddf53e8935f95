import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { connectionId } from '@webcapture/shared/nats/watch.ts';
import { LRUCache } from 'lru-cache';
import { entryLimit } from './entry-limit.ts';

interface ReadCacheOptions<T> {
  /** A value is read anew after this; its age counts from the start of the reading. */
  readonly maxAgeMs: number;
  /** Beyond it the one that was used least recently makes room. */
  readonly maxEntries?: number;
  /** Whether a value is worth keeping; by default what is there at all. */
  readonly isKept?: (value: T) => boolean;
  /** Milliseconds by a clock that never goes back. */
  readonly now?: () => number;
}

/**
 * A TTL cache of recent reads. Concurrent callers share one read; failed reads are not cached. A returned value is
 * never older than `maxAgeMs` plus one read.
 */
export class ReadCache<T> {
  readonly #readings: LRUCache<string, Promise<T>>;
  readonly #isKept: (value: T) => boolean;

  constructor({ maxAgeMs, maxEntries = 10_000, isKept, now = () => performance.now() }: ReadCacheOptions<T>) {
    this.#isKept = isKept ?? ((value) => value !== null);
    // To the millisecond: the clock is not remembered between two calls.
    this.#readings = new LRUCache({ ...entryLimit(maxEntries), ttl: maxAgeMs, ttlResolution: 0, perf: { now } });
  }

  /** The value at hand, else what `read` brings. Throws what `read` throws. */
  get(key: string, read: () => Promise<T>): Promise<T> {
    const known = this.#readings.get(key);
    if (known !== undefined) return known;
    const reading = read();
    this.#readings.set(key, reading);
    const forget = () => {
      if (this.#readings.peek(key) === reading) this.#readings.delete(key);
    };
    reading.then((value) => {
      if (!this.#isKept(value)) forget();
    }, forget);
    return reading;
  }

  /** Drops the value after a change: it is read again, and no caller joins a read in progress. */
  forget(key: string): void {
    this.#readings.delete(key);
  }

  clear(): void {
    this.#readings.clear();
  }
}

/**
 * A {@link ReadCache} of values of NATS, by their subjects, for what is asked for thousands of times a second. A value is
 * forgotten when a write to its subject is heard (core NATS), and when the connection is lost or another one; after
 * `maxAgeMs` in any case, so that a write that was not heard counts from then on.
 */
export class WatchedReadCache<T> {
  readonly #session: NatsSession;
  readonly #cache: ReadCache<T>;
  readonly #listeners = new Map<string, Set<() => void>>();
  #connection: string;

  /** @param subjects a wildcard over the subjects whose values are read */
  constructor(session: NatsSession, subjects: string, options: ReadCacheOptions<T>) {
    this.#session = session;
    this.#cache = new ReadCache(options);
    this.#connection = connectionId(session);
    session.nc.subscribe(subjects, {
      callback: (error, { subject }) => {
        if (error === null) this.#onWritten(subject);
      },
    });
  }

  /** The value of a subject: the one at hand, else what `read` brings. Throws what `read` throws. */
  get(subject: string, read: () => Promise<T>): Promise<T> {
    const connection = connectionId(this.#session);
    // Writes have not been heard, or may not have been.
    if (!this.#session.connected() || connection !== this.#connection) this.#cache.clear();
    this.#connection = connection;
    return this.#cache.get(subject, read);
  }

  /** Calls the listener at each write to the subject, until the function that it returns is called. */
  onWrite(subject: string, listener: () => void): () => void {
    const listeners = this.#listeners.get(subject) ?? new Set();
    this.#listeners.set(subject, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(subject) === listeners) this.#listeners.delete(subject);
    };
  }

  #onWritten(subject: string): void {
    this.#cache.forget(subject);
    for (const listener of this.#listeners.get(subject) ?? []) listener();
  }
}
