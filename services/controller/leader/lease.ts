export interface LeaseTimes {
  /** Lifetime of the lease; a whole number of seconds. */
  readonly ttlMs: number;
  /** Time before the lease ends at which its holder stops acting, so that another process can start then. */
  readonly marginMs: number;
  readonly renewMs: number;
  /** Interval between a failed renewal and the next. */
  readonly retryMs: number;
  /** Interval at which the other candidates check whether the lease is free. */
  readonly pollMs: number;
  /** Time limit of one request. */
  readonly requestMs: number;
}

/** A stored lease. */
export interface StoredLease {
  /**
   * The holder. It is unique for each process, so that a process never takes the lease of a process with the same name for its own. Empty
   * after a release.
   */
  readonly holder: string;
  /** Changes with each write. */
  readonly version: string | number;
  /** Lifetime of the lease from a write, if the store contains it. */
  readonly ttlMs?: number;
}

/** Store of a lease: one record, written by compare-and-set. Each call ends within `requestMs`. */
export interface LeaseStore<R extends StoredLease> {
  /** Returns null when no record exists. */
  read(): Promise<R | null>;
  /**
   * Writes the lease for `holder`, unless another process has written since `before` was read. If `before` is null, writes unless a record
   * exists.
   */
  write(before: R | null, holder: string): Promise<R>;
  /** Releases the lease, unless another process has written since. */
  release(held: R): Promise<void>;
  /** Whether a write was refused because the record has changed or is gone. */
  isConflict(error: unknown): boolean;
}

/**
 * A leadership in the view of one candidate. It lasts `ttlMs` from a write. The holder measures from the time before its write and stops
 * `marginMs` early. The others measure from the time at which they read the write. Each uses its own monotonic clock. Two processes
 * therefore never hold the lease at the same time, whatever their wall clocks show and however long a process pauses.
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

  /** Whether this process may act as the leader now. Check it before each act. */
  holds(): boolean {
    return this.#held !== null && this.#now() < this.#actUntil;
  }

  /** The record that this process wrote last; null while it does not lead. */
  get held(): R | null {
    return this.#held;
  }

  /** Takes the leadership if it is free. Throws if the store does not answer. */
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

  /** Returns for how many milliseconds this process has seen the lease free; 0 if it is held. Throws if the store does not answer. */
  async freeForMs(): Promise<number> {
    if (!this.#isFree(await this.#store.read())) return 0;
    return this.#now() - (this.#freeSince ?? this.#now());
  }

  /**
   * Extends the lease. If another process holds it, the lease is lost immediately. If the store does not answer, it is lost when its time
   * ends.
   */
  async renew(): Promise<void> {
    if (this.#held === null) return;
    const startedAt = this.#now();
    try {
      await this.#write(this.#held, startedAt);
    } catch (error) {
      if (!this.#store.isConflict(error)) throw error;
      // This process has written but lost the answer, or another process has written, or the record was deleted.
      await this.confirm();
      if (this.#held !== null) await this.#write(this.#held, startedAt);
    }
  }

  /**
   * Reads whether this process still holds the leadership. If not, the leadership is lost immediately. Throws if the store does not answer.
   */
  async confirm(): Promise<boolean> {
    const found = await this.#store.read();
    // If the holder is the same and the version is another one, a renewal that seemed to fail was stored.
    this.#held = found?.holder === this.#holder ? found : null;
    return this.holds();
  }

  /** Releases the lease, so that a successor need not wait. */
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
    // The longer of the two TTLs applies: the one of this process or the one of the holder.
    return this.#now() - this.#seen.at >= Math.max(this.#times.ttlMs, ttlMs);
  }

  async #write(before: R | null, startedAt: number): Promise<void> {
    this.#held = await this.#store.write(before, this.#holder);
    this.#freeSince = null;
    this.#actUntil = startedAt + this.#times.ttlMs - this.#times.marginMs;
  }
}
