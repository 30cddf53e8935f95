import type { Entries } from '@webcapture/shared/nats/entries.ts';
import type { PassState } from './pass-state.ts';

const passKey = 'reconcile.pass';
const missingKey = 'reconcile.missing';

/** How many completed captures had lost their file when somebody looked. */
export interface MissingCount {
  readonly count: number;
  /** Unix milliseconds. */
  readonly at: number;
}

/**
 * How far the reconcile has come: in the bucket `live`, without a time limit, where the next leader finds it. A pass
 * that has ended stays there until the next one begins.
 */
export class ReconcileProgress {
  readonly #live: Entries;

  constructor(live: Entries) {
    this.#live = live;
  }

  async pass(): Promise<PassState | null> {
    return (await this.#live.get<PassState>(passKey))?.value ?? null;
  }

  async keepPass(state: PassState): Promise<void> {
    await this.#live.put(passKey, state);
  }

  async missing(): Promise<MissingCount | null> {
    return (await this.#live.get<MissingCount>(missingKey))?.value ?? null;
  }

  async keepMissing(count: MissingCount): Promise<void> {
    await this.#live.put(missingKey, count);
  }
}
