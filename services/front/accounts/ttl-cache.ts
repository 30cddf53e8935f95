import { LRUCache } from 'lru-cache';

const maxEntries = 10_000;

interface Reading<T> {
  readonly startedAt: number;
  readonly value: Promise<T | null>;
}

/**
 * Remembers for a moment what was read. Whoever asks while a value is being read shares that reading; what is not there,
 * or could not be read, is not remembered. Age counts from the start of the reading, so nothing older than `maxAgeMs` and
 * one reading is ever answered.
 */
export class TtlCache<T> {
  readonly #maxAgeMs: number;
  readonly #now: () => number;
  readonly #readings = new LRUCache<string, Reading<T>>({ max: maxEntries });

  constructor(maxAgeMs: number, now: () => number = () => performance.now()) {
    this.#maxAgeMs = maxAgeMs;
    this.#now = now;
  }

  get(key: string, read: () => Promise<T | null>): Promise<T | null> {
    const found = this.#readings.get(key);
    if (found !== undefined && this.#now() - found.startedAt < this.#maxAgeMs) return found.value;
    const reading: Reading<T> = { startedAt: this.#now(), value: read() };
    this.#readings.set(key, reading);
    const forget = () => {
      if (this.#readings.peek(key) === reading) this.#readings.delete(key);
    };
    reading.value.then((value) => value ?? forget(), forget);
    return reading.value;
  }

  /** What was changed here holds here at once. */
  forget(key: string): void {
    this.#readings.delete(key);
  }
}
