import type { StatusReport } from '@webcapture/shared/contract/status-report.ts';
import type { Facts } from '../gather/facts.ts';

export interface Reading {
  readonly facts: Facts;
  /** Null until every component has been read once. */
  readonly report: StatusReport | null;
}

/** An older one is no longer gone by. */
const maxAgeMs = 10_000;

/** What this controller read and decided last, for those of its parts that act on it. */
export class LatestReading {
  #reading: Reading | null = null;
  #at = 0;
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  set(reading: Reading): void {
    this.#reading = reading;
    this.#at = this.#now();
  }

  /** Null before the first, and when the last one is too old. */
  get(): Reading | null {
    return this.#now() - this.#at > maxAgeMs ? null : this.#reading;
  }
}
