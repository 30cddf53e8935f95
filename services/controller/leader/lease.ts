export interface LeaseTimes {
  /** Whole seconds. */
  readonly ttlMs: number;
  /** The holder stops acting so long before anybody else may begin. */
  readonly marginMs: number;
  readonly renewMs: number;
  /** Between a failed renewal and the next. */
  readonly retryMs: number;
  /** How often the others look whether it has become free. */
  readonly pollMs: number;
  /** How long one request may take. */
  readonly requestMs: number;
}

/** A lease as its store has it. */
export interface StoredLease {
  /** Unique to a process, so that nobody takes the record of a namesake for its own; empty when it was given up. */
  readonly holder: string;
  /** Another one after each write. */
  readonly version: string | number;
  /** For how long its holder has it from a write, where the store tells. */
  readonly ttlMs?: number;
}

/** Where a lease is kept: one record, written by compare-and-set. Each call ends within `requestMs`. */
export interface LeaseStore<R extends StoredLease> {
  /** Null when there is none. */
  read(): Promise<R | null>;
  /** Writes it for `holder`, unless somebody else has written since `before` (null: unless there is one). */
  write(before: R | null, holder: string): Promise<R>;
  /** Gives it up, unless somebody else has written since. */
  release(held: R): Promise<void>;
  /** Whether a write was refused, because the record is another one by now, or is gone. */
  isConflict(error: unknown): boolean;
}

/**
 * A leadership as one candidate sees it. It is held for `ttlMs` from a write; the holder counts that from before the
 * write and stops `marginMs` early, the others count it from when they have read that write, each on its own monotonic
 * clock. So no two hold it at once, whatever their wall clocks say and however long one of them was paused.
 */
export class Lease<R extends StoredLease = StoredLease> {
  readonly #store: LeaseStore<R>;
  readonly #holder: string;
  readonly #times: LeaseTimes;
  readonly #now: () => number;
  #held: R | null = null;
  #actUntil = 0;
  #seen: { readonly version: string | number; readonly at: number } | null = null;
  #freeSince: number | null = null;

  constructor(store: LeaseStore<R>, holder: string, times: LeaseTimes, now: () => number = () => performance.now()) {
    this.#store = store;
    this.#holder = holder;
    this.#times = times;
    this.#now = now;
  }

  /** Whether this process may act as the leader right now. Asked before each act. */
  holds(): boolean {
    return this.#held !== null && this.#now() < this.#actUntil;
  }

  /** The record as this process wrote it last; null while it does not lead. */
  get held(): R | null {
    return this.#held;
  }

  /** Takes the leadership if it is free. Throws when the store does not answer. */
  async take(): Promise<boolean> {
    const startedAt = this.#now();
    const found = await this.#store.read();
    if (!this.#isFree(found)) return false;
    try {
      await this.#write(found, startedAt);
      return true;
    } catch (error) {
      if (this.#store.isConflict(error)) return false;
      throw error;
    }
  }

  /** Milliseconds for which this process has found the lease free; 0 while it is held. Throws when the store does not answer. */
  async freeForMs(): Promise<number> {
    if (!this.#isFree(await this.#store.read())) return 0;
    return this.#now() - (this.#freeSince ?? this.#now());
  }

  /** Holds it for longer. When somebody else has it, it is lost; a store that does not answer leaves it to the clock. */
  async renew(): Promise<void> {
    if (this.#held === null) return;
    const startedAt = this.#now();
    try {
      await this.#write(this.#held, startedAt);
    } catch (error) {
      if (!this.#store.isConflict(error)) throw error;
      // Our own write whose answer was lost, or somebody else's; or the record was deleted.
      await this.confirm();
      if (this.#held !== null) await this.#write(this.#held, startedAt);
    }
  }

  /** Asks the store whether the leadership is still ours; if not, it is lost at once. Throws when there is no answer. */
  async confirm(): Promise<boolean> {
    const found = await this.#store.read();
    // Ours under another version: a renewal that seemed to fail has landed.
    this.#held = found?.holder === this.#holder ? found : null;
    return this.holds();
  }

  /** Gives it up, so that a successor need not wait. */
  async release(): Promise<void> {
    const held = this.#held;
    this.#held = null;
    if (held !== null) await this.#store.release(held);
  }

  #isFree(found: R | null): boolean {
    const isFree = found === null || this.#isAbandoned(found);
    this.#freeSince = isFree ? (this.#freeSince ?? this.#now()) : null;
    return isFree;
  }

  #isAbandoned({ holder, version, ttlMs = 0 }: R): boolean {
    if (holder === '' || holder === this.#holder) return true;
    if (this.#seen?.version !== version) this.#seen = { version, at: this.#now() };
    // A holder with other times in mind than ours is waited for as long as it says.
    return this.#now() - this.#seen.at >= Math.max(this.#times.ttlMs, ttlMs);
  }

  async #write(before: R | null, startedAt: number): Promise<void> {
    this.#held = await this.#store.write(before, this.#holder);
    this.#freeSince = null;
    this.#actUntil = startedAt + this.#times.ttlMs - this.#times.marginMs;
  }
}
