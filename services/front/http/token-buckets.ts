import { LRUCache } from 'lru-cache';
import { entryLimit } from '../entry-limit.ts';

interface TokenBucketsOptions {
  /** Maximum number of tokens that can be spent at once. */
  readonly capacity: number;
  /** Number of tokens that are added per second. */
  readonly perSecond: number;
  /** Monotonic milliseconds. */
  readonly now?: (() => number) | undefined;
}

/** Maximum number of keys. The least recently used keys are dropped; their buckets are then full again. */
const maxKeys = 50_000;

/** Token buckets by key. Buckets can be overdrawn by up to their capacity. */
export class TokenBuckets {
  readonly #options: TokenBucketsOptions;
  readonly #now: () => number;
  readonly #levels = new LRUCache<string, { readonly level: number; readonly at: number }>(entryLimit(maxKeys));

  constructor(options: TokenBucketsOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  spend(key: string, tokens: number): void {
    const level = Math.max(this.level(key) - tokens, -this.#options.capacity);
    this.#levels.set(key, { level, at: this.#now() });
  }

  /** Returns the remaining tokens. The number is negative if the bucket is overdrawn. */
  level(key: string): number {
    const { capacity, perSecond } = this.#options;
    const known = this.#levels.get(key);
    if (known === undefined) return capacity;
    return Math.min(capacity, known.level + ((this.#now() - known.at) / 1000) * perSecond);
  }

  /** Returns the whole seconds until `tokens` are available, at least 1. */
  secondsUntil(key: string, tokens: number): number {
    return Math.max(1, Math.ceil((tokens - this.level(key)) / this.#options.perSecond));
  }
}
