/** A clock of this process, in milliseconds. Tests give others. */
export interface LocalClocks {
  /** Unix time, which somebody may set. */
  readonly wall: () => number;
  /** From any beginning, and never set. */
  readonly monotonic: () => number;
}

export interface ClockSample {
  /** Unix milliseconds, as the server had it when it answered. */
  readonly serverTimeMs: number;
  /** By the monotonic clock. */
  readonly sentAt: number;
  readonly receivedAt: number;
}

/** So many times that came from outside are compared; the one that travelled the shortest time is the best. */
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
   * Takes a time that somebody who knows it has sent, and that was under way for `delayMs` as far as that is known. What was
   * under way for longer tells an earlier time than it is, so the latest of several tells is the best one.
   */
  learn(serverTimeMs: number, delayMs = 0): void {
    if (!Number.isFinite(serverTimeMs)) return;
    this.#learned.push(serverTimeMs + delayMs - this.#local.monotonic());
    if (this.#learned.length > maxLearned) this.#learned.shift();
    this.#offset = Math.max(...this.#learned);
  }

  /**
   * Takes answers of the server: the one with the shortest round trip says best how late it is. The clock stays as it is where
   * that one leaves it open whether it is right, so that it does not go to and fro.
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
