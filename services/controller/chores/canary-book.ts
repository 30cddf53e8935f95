import type { Region } from '@webcapture/shared/contract/regions.ts';
import type { Entries } from '@webcapture/shared/nats/entries.ts';
import type { CanaryFacts } from '../gather/facts.ts';
import type { CanaryOutcome } from './canary.ts';

const keyOf = (region: Region) => `canary.${region}`;

/** What is not confirmed for so long is forgotten. */
const minTtlSeconds = 300;

/**
 * What the canaries showed, by region. The leader writes it down in the bucket `live`, where its successor finds it, so
 * that a change of the leader neither ends nor hides an outage.
 */
export class CanaryBook {
  readonly #live: Entries;
  readonly #ttlSeconds: number;
  readonly #facts = new Map<Region, CanaryFacts>();

  constructor(live: Entries, intervalMs: number) {
    this.#live = live;
    this.#ttlSeconds = Math.max(minTtlSeconds, Math.ceil((3 * intervalMs) / 1000));
  }

  of(region: Region): CanaryFacts | null {
    return this.#facts.get(region) ?? null;
  }

  /** Reads what the leader has written down. */
  async load(regions: readonly Region[]): Promise<void> {
    for (const region of regions) {
      const entry = await this.#live.get<CanaryFacts>(keyOf(region));
      if (entry === null) this.#facts.delete(region);
      else this.#facts.set(region, entry.value);
    }
  }

  /** Takes in how a canary ended, and writes it down. `crowded`: all slots of the region were busy. */
  async note(region: Region, outcome: CanaryOutcome, crowded: boolean): Promise<void> {
    const facts = nextFacts(this.of(region), outcome, crowded, Date.now());
    this.#facts.set(region, facts);
    await this.#live.put(keyOf(region), facts, { ttlSeconds: this.#ttlSeconds });
  }

  /** Whatever was seen is no longer about the renderers that there are now. */
  async forget(region: Region): Promise<void> {
    if (!this.#facts.delete(region)) return;
    await this.#live.delete(keyOf(region));
  }
}

/** Adds one outcome to what was known. */
export function nextFacts(
  before: CanaryFacts | null,
  outcome: CanaryOutcome,
  crowded: boolean,
  at: number,
): CanaryFacts {
  if (outcome.kind === 'completed') return { last: 'completed', failures: 0, ms: outcome.ms, at };
  const kept = before?.ms === undefined ? {} : { ms: before.ms };
  const failures = before?.failures ?? 0;
  if (outcome.kind === 'failed') return { last: 'failed', failures: failures + 1, reason: outcome.reason, at, ...kept };
  if (crowded) return { last: 'crowded', failures: 0, at, ...kept };
  return { last: 'failed', failures: failures + 1, reason: 'No renderer took it.', at, ...kept };
}
