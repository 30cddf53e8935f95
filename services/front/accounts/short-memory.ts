/** Past so many, what is no longer fresh is thrown out. */
const manyEntries = 10_000;

interface Memory<T> {
  readonly startedAt: number;
  readonly value: Promise<T | null>;
}

/**
 * Remembers for a moment what was read. Whoever asks while a value is being read shares that reading; what is not there,
 * or could not be read, is not remembered. Age counts from the start of the reading, so nothing older than `maxAgeMs` and
 * one reading is ever answered.
 */
export class ShortMemory<T> {
  readonly #maxAgeMs: number;
  readonly #now: () => number;
  readonly #entries = new Map<string, Memory<T>>();

  constructor(maxAgeMs: number, now: () => number = () => performance.now()) {
    this.#maxAgeMs = maxAgeMs;
    this.#now = now;
  }

  get(key: string, read: () => Promise<T | null>): Promise<T | null> {
    const found = this.#entries.get(key);
    if (found !== undefined && this.#isFresh(found)) return found.value;
    const memory: Memory<T> = { startedAt: this.#now(), value: read() };
    this.#entries.set(key, memory);
    const forget = () => {
      if (this.#entries.get(key) === memory) this.#entries.delete(key);
    };
    memory.value.then((value) => value ?? forget(), forget);
    if (this.#entries.size > manyEntries) this.#tidy();
    return memory.value;
  }

  /** What was changed here holds here at once. */
  forget(key: string): void {
    this.#entries.delete(key);
  }

  #isFresh({ startedAt }: Memory<T>): boolean {
    return this.#now() - startedAt < this.#maxAgeMs;
  }

  #tidy(): void {
    for (const [key, memory] of this.#entries) {
      if (!this.#isFresh(memory)) this.#entries.delete(key);
    }
  }
}
