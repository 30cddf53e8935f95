import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { connectionId } from '@webcapture/shared/nats/watch.ts';
import { LRUCache } from 'lru-cache';
import { entryLimit } from './entry-limit.ts';

interface ReadCacheOptions<T> {
  /** Maximum age of a value, from the start of its read. If undefined, only concurrent callers share a read. */
  readonly maxAgeMs?: number;
  /** Maximum number of values; the least recently used one is evicted. */
  readonly maxEntries?: number;
  /** Decides whether a value is cached. By default, all values but null are cached if there is a maximum age. */
  readonly isKept?: (value: T) => boolean;
  /** Monotonic milliseconds. */
  readonly now?: () => number;
}

/**
 * A TTL cache of recent reads. Concurrent callers share one read; failed reads are not cached. A returned value is
 * never older than `maxAgeMs` plus one read.
 */
export class ReadCache<T> {
  readonly #readings: LRUCache<string, Promise<T>>;
  readonly #isKept: (value: T) => boolean;

  constructor({ maxAgeMs, maxEntries = 10_000, isKept, now = () => performance.now() }: ReadCacheOptions<T> = {}) {
    this.#isKept = isKept ?? ((value) => maxAgeMs !== undefined && value !== null);
    // The resolution is 0, so that the cache reads the clock at each call.
    this.#readings = new LRUCache({ ...entryLimit(maxEntries), ttl: maxAgeMs ?? 0, ttlResolution: 0, perf: { now } });
  }

  /** Returns the cached value, or the result of `read`. Throws the errors of `read`. */
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

  /** Drops a changed value. The next caller starts a new read instead of joining one in progress. */
  forget(key: string): void {
    this.#readings.delete(key);
  }

  clear(): void {
    this.#readings.clear();
  }
}

/**
 * A {@link ReadCache} of values in NATS by subject, for values that are read thousands of times a second. A write to a subject drops its
 * value; writes are noticed through core NATS. A lost or a new connection drops all values. A missed write is noticed after `maxAgeMs`.
 */
export class WatchedReadCache<T> {
  readonly #session: NatsSession;
  readonly #cache: ReadCache<T>;
  readonly #listeners = new Map<string, Set<() => void>>();
  #connection: string;

  /** @param subjects a wildcard that covers the subjects of all values */
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

  /** Returns the cached value of a subject, or the result of `read`. Throws the errors of `read`. */
  get(subject: string, read: () => Promise<T>): Promise<T> {
    const connection = connectionId(this.#session);
    // While disconnected, writes may have been missed.
    if (!this.#session.connected() || connection !== this.#connection) this.#cache.clear();
    this.#connection = connection;
    return this.#cache.get(subject, read);
  }

  /** Calls the listener at each write to the subject until the returned function is called. */
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
