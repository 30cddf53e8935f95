/** A clock of this process, in milliseconds. Tests give others. */
export interface LocalClocks {
  /** Unix time, which can be adjusted. */
  readonly wall: () => number;
  /** Milliseconds since an arbitrary start, never adjusted. */
  readonly monotonic: () => number;
}

export interface ClockSample {
  /** Unix milliseconds, as the server had it when it answered. */
  readonly serverTimeMs: number;
  /** By the monotonic clock. */
  readonly sentAt: number;
  readonly receivedAt: number;
}

/** Number of learned times that are compared; the one with the shortest delay is the best. */
const maxLearned = 8;

/** What a time stamp in milliseconds leaves open. */
const precisionMs = 1;

/**
 * The server's clock as this process knows it: by it are all times that processes compare, so that it does not matter what
 * the clock of a pod says. It runs on the monotonic clock of the process, so a step of the local clock does not move it.
 * Until it has heard from the server it is the local clock.
 */
export class ServerClock {
  readonly #local: LocalClocks;
  /** What is added to the monotonic clock; null: nothing is known yet. */
  #offset: number | null = null;
  readonly #learned: number[] = [];

  constructor(local: LocalClocks = { wall: () => Date.now(), monotonic: () => performance.now() }) {
    this.#local = local;
  }

  /** Unix milliseconds, whole ones. */
  readonly now = (): number =>
    Math.round(this.#offset === null ? this.#local.wall() : this.#local.monotonic() + this.#offset);

  /** By the clock that samples are measured with. */
  monotonic(): number {
    return this.#local.monotonic();
  }

  /** Whether the time is the server's. */
  get isKnown(): boolean {
    return this.#offset !== null;
  }

  /** How far the local clock is ahead of the server's, in milliseconds; negative: it is behind. */
  get localAheadMs(): number {
    return this.#local.wall() - this.now();
  }

  /**
   * Learns a time from another process that arrived after about `delayMs`. A longer delay yields an earlier time, so
   * the latest of several is the best.
   */
  learn(serverTimeMs: number, delayMs = 0): void {
    if (!Number.isFinite(serverTimeMs)) return;
    this.#learned.push(serverTimeMs + delayMs - this.#local.monotonic());
    if (this.#learned.length > maxLearned) this.#learned.shift();
    this.#offset = Math.max(...this.#learned);
  }

  /**
   * Learns from answers of the server: the one with the shortest round trip is the most precise. The clock changes only
   * when that answer proves it wrong, so that it does not oscillate.
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
