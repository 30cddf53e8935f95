import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { connectionId } from '@webcapture/shared/nats/watch-guard.ts';

export interface RecentReadsOptions<T> {
  readonly session: NatsSession;
  /** A wildcard over the subjects whose values are kept: every write to one of them is heard. */
  readonly subjects: string;
  /** A value is read anew after this, whatever was or was not heard. */
  readonly maxAgeMs: number;
  /** Beyond it the one that was read first makes room. */
  readonly maxEntries: number;
  /** Whether a value is worth keeping. */
  readonly isKept: (value: T) => boolean;
}

interface Reading<T> {
  readonly at: number;
  readonly connection: string;
  readonly promise: Promise<T>;
}

/**
 * Values that were read from NATS a moment ago, for what is asked for thousands of times a second. A value is forgotten
 * when a write to its subject is heard (core NATS), when the connection is lost or another one, and after `maxAgeMs` in
 * any case, so that a write that was not heard counts from then on. Readings at the same time are one.
 */
export class RecentReads<T> {
  readonly #options: RecentReadsOptions<T>;
  readonly #readings = new Map<string, Reading<T>>();
  readonly #listeners = new Map<string, Set<() => void>>();

  constructor(options: RecentReadsOptions<T>) {
    this.#options = options;
    options.session.nc.subscribe(options.subjects, {
      callback: (error, { subject }) => {
        if (error === null) this.#written(subject);
      },
    });
  }

  /** The value of a subject: the one at hand, else what `read` brings. Throws what `read` throws. */
  get(subject: string, read: () => Promise<T>): Promise<T> {
    const { session, maxAgeMs } = this.#options;
    const now = performance.now();
    const connection = connectionId(session);
    const known = this.#readings.get(subject);
    if (known !== undefined && session.connected() && known.connection === connection && now - known.at < maxAgeMs) {
      return known.promise;
    }
    return this.#read(subject, { at: now, connection, promise: read() });
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

  #read(subject: string, reading: Reading<T>): Promise<T> {
    this.#readings.delete(subject);
    this.#readings.set(subject, reading);
    const [oldest] = this.#readings.keys();
    if (oldest !== undefined && this.#readings.size > this.#options.maxEntries) this.#readings.delete(oldest);
    const forget = () => {
      if (this.#readings.get(subject) === reading) this.#readings.delete(subject);
    };
    reading.promise.then((value) => {
      if (!this.#options.isKept(value)) forget();
    }, forget);
    return reading.promise;
  }

  #written(subject: string): void {
    // A reading under way may bring what was there before: nobody joins it any more.
    this.#readings.delete(subject);
    for (const listener of this.#listeners.get(subject) ?? []) listener();
  }
}
