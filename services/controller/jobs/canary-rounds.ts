import type { Region } from '@webcapture/shared/runtime/regions.ts';
import type { Entries } from '@webcapture/shared/nats/entries.ts';
import type { Fleet } from '@webcapture/shared/queue/fleet.ts';
import type { CanaryFacts } from '../health/facts.ts';
import type { Term } from '../leader/election.ts';
import { repeat } from '../loops.ts';
import { runCanary, type CanaryParts, type CanaryOutcome } from './canary.ts';

/** How often a region without renderers is looked at: its first canary follows soon after its first renderer. */
const absentMs = 500;

export interface CanaryRoundsOptions extends CanaryParts {
  readonly fleet: Pick<Fleet, 'serving'>;
  readonly canaryResults: CanaryResults;
  readonly regions: readonly Region[];
  /** 0: no canaries. */
  readonly intervalMs: number;
  readonly retryMs: number;
  readonly deadlineMs: number;
}

/** Tries every region out, each at its own pace, for as long as the term lasts. Never throws. */
export async function canaryRounds(options: CanaryRoundsOptions, term: Term): Promise<void> {
  if (options.intervalMs === 0) return;
  await Promise.all(options.regions.map((region) => roundsOf(options, region, term)));
}

async function roundsOf(options: CanaryRoundsOptions, region: Region, term: Term): Promise<void> {
  const { fleet, canaryResults, log } = options;
  const retryMs = Math.min(options.retryMs, options.intervalMs);
  let pauseMs = retryMs;
  const work = async () => {
    // A failure below is tried again soon.
    pauseMs = retryMs;
    if (!term.holds()) return;
    if (fleet.serving(region).length === 0) {
      pauseMs = absentMs;
      await canaryResults.forget(region);
      return;
    }
    const outcome = await runCanary(options, region, options.deadlineMs, term.signal);
    if (outcome === null || !term.holds()) return;
    const pods = fleet.serving(region);
    // Without renderers by now, the state of the region says so.
    if (pods.length === 0) return;
    await canaryResults.record(
      region,
      outcome,
      pods.every(({ busy, slots }) => busy >= slots),
    );
    if (outcome.kind === 'completed') pauseMs = options.intervalMs;
  };
  await repeat({ what: `canary of ${region}`, everyMs: () => pauseMs, signal: term.signal, log }, work);
}

const keyOf = (region: Region) => `canary.${region}`;

/** What is not confirmed for so long is forgotten. */
const minTtlSeconds = 300;

/**
 * What the canaries showed, by region. The leader writes it down in the bucket `live`, where its successor finds it, so
 * that a change of the leader neither ends nor hides an outage.
 */
export class CanaryResults {
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

  /** Records how a canary ended. `crowded`: all slots of the region were busy. */
  async record(region: Region, outcome: CanaryOutcome, crowded: boolean): Promise<void> {
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
