import type { Region } from '@webcapture/shared/contract/regions.ts';

/** Scaling up is no outage for so long. */
export const wantedWindowMs = 5 * 60_000;

interface Step {
  /** When this number came to be asked for, on the monotonic clock. */
  readonly since: number;
  readonly replicas: number;
}

/** The least number of replicas asked for in the last five minutes, by region. */
export class LeastWanted {
  readonly #steps = new Map<Region, readonly Step[]>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** What is asked for now. Returns the least of the window. */
  note(region: Region, replicas: number): number {
    const now = this.#now();
    const steps = this.#steps.get(region) ?? [];
    const next = steps.at(-1)?.replicas === replicas ? steps : [...steps, { since: now, replicas }];
    // What was asked for before the window began counts while it was still asked for when it began.
    const kept = next.filter((_, index) => (next[index + 1]?.since ?? Infinity) > now - wantedWindowMs);
    this.#steps.set(region, kept);
    return Math.min(...kept.map((step) => step.replicas));
  }

  /** What a predecessor found `ageMs` ago; only before the first note of a region. */
  remember(region: Region, replicas: number, ageMs: number): void {
    if (this.#steps.has(region) || ageMs < 0 || ageMs >= wantedWindowMs) return;
    this.#steps.set(region, [{ since: this.#now() - ageMs, replicas }]);
  }
}
