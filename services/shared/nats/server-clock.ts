/** The clocks of this process, in milliseconds. Tests replace them. */
export interface LocalClocks {
  /** Unix time, which can be adjusted. */
  readonly wall: () => number;
  /** Milliseconds since an arbitrary start. This clock is never adjusted. */
  readonly monotonic: () => number;
}

export interface ClockSample {
  /** Unix milliseconds of the server when it answered. */
  readonly serverTimeMs: number;
  /** Time on the monotonic clock, like `receivedAt`. */
  readonly sentAt: number;
  readonly receivedAt: number;
}

/** Number of learned times that are kept. The one that arrived with the shortest delay is the best. */
const maxLearned = 8;

/** Rounding error of a time stamp in milliseconds. */
const precisionMs = 1;

/**
 * The server's clock as this process knows it. All times that processes compare use it, so the clocks of pods do not matter. It is based on
 * the monotonic clock of the process, so adjustments of the local clock do not affect it. Before the first answer of the server, it equals
 * the local clock.
 */
export class ServerClock {
  readonly #local: LocalClocks;
  /** Difference to the monotonic clock; null before the first measurement. */
  #offset: number | null = null;
  readonly #learned: number[] = [];

  constructor(local: LocalClocks = { wall: () => Date.now(), monotonic: () => performance.now() }) {
    this.#local = local;
  }

  /** Returns the server's time in whole Unix milliseconds. */
  readonly now = (): number =>
    Math.round(this.#offset === null ? this.#local.wall() : this.#local.monotonic() + this.#offset);

  /** Returns the time of the clock that samples use. */
  monotonic(): number {
    return this.#local.monotonic();
  }

  /** Whether the server's time is known. */
  get isKnown(): boolean {
    return this.#offset !== null;
  }

  /** Milliseconds by which the local clock is ahead of the server's; negative if it is behind. */
  get localAheadMs(): number {
    return this.#local.wall() - this.now();
  }

  /**
   * Learns a time that another process sent and that arrived after about `delayMs`. With a longer delay, the result is an earlier time, so
   * the latest result of several is the best.
   */
  learn(serverTimeMs: number, delayMs = 0): void {
    if (!Number.isFinite(serverTimeMs)) return;
    this.#learned.push(serverTimeMs + delayMs - this.#local.monotonic());
    if (this.#learned.length > maxLearned) this.#learned.shift();
    this.#offset = Math.max(...this.#learned);
  }

  /**
   * Updates the clock from answers of the server. The answer with the shortest round trip is the most precise. The clock changes only if
   * that answer proves it wrong. Otherwise it would oscillate.
   */
  measure(samples: readonly ClockSample[]): void {
    const best = samples.toSorted((a, b) => roundTripOf(a) - roundTripOf(b))[0];
    if (best === undefined || !Number.isFinite(best.serverTimeMs)) return;
    const half = roundTripOf(best) / 2;
    const offset = best.serverTimeMs + half - best.receivedAt;
    if (this.#offset === null || Math.abs(offset - this.#offset) > half + precisionMs) this.#offset = offset;
  }
}

const roundTripOf = ({ sentAt, receivedAt }: ClockSample) => receivedAt - sentAt;
