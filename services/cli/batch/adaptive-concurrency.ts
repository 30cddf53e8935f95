/** Pause after a refusal without Retry-After. */
const defaultPauseMs = 1000;

/**
 * Limits the number of parallel captures. When the number of successes since the last change equals the limit, the limit increases by one.
 * When the service refuses a capture, the limit is halved. No request is sent before the time that the refusal names.
 */
export class AdaptiveConcurrency {
  readonly #max: number;
  readonly #now: () => number;
  #limit: number;
  #successes = 0;
  #pausedUntil = 0;
  /** Time of the last halving. Refusals of requests that were sent before it do not halve the limit again. */
  #halvedAt = -Infinity;

  constructor(max: number, now: () => number = Date.now) {
    this.#max = max;
    this.#now = now;
    this.#limit = Math.min(max, 4);
  }

  get limit(): number {
    return this.#limit;
  }

  /** Milliseconds until the next request may be sent. */
  get pauseMs(): number {
    return Math.max(0, this.#pausedUntil - this.#now());
  }

  onSuccess(): void {
    this.#successes++;
    if (this.#successes < this.#limit) return;
    this.#successes = 0;
    this.#limit = Math.min(this.#max, this.#limit + 1);
  }

  /** @param sentAt when the refused request was sent */
  onRefusal(sentAt: number, retryAfterMs: number | null): void {
    this.#successes = 0;
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#now() + (retryAfterMs ?? defaultPauseMs));
    if (sentAt < this.#halvedAt) return;
    this.#halvedAt = this.#now();
    this.#limit = Math.max(1, Math.floor(this.#limit / 2));
  }
}
