import type { Region } from '@webcapture/shared/contract/regions.ts';

/** How many captures of this front are under way, by region. */
export class InFlight {
  readonly #counts = new Map<Region, number>();

  of(region: Region): number {
    return this.#counts.get(region) ?? 0;
  }

  /** Counts one until the function that it returns is called. */
  add(region: Region): () => void {
    this.#counts.set(region, this.of(region) + 1);
    let counted = true;
    return () => {
      if (counted) this.#counts.set(region, this.of(region) - 1);
      counted = false;
    };
  }
}
