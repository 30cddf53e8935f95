import type { Region } from '@webcapture/shared/contract/regions.ts';
import type { Fleet } from '@webcapture/shared/state/fleet.ts';
import type { Term } from '../leader/election.ts';
import { repeat } from '../repeat.ts';
import type { CanaryBook } from './canary-book.ts';
import { runCanary, type CanaryParts } from './canary.ts';

/** How often a region without renderers is looked at: its first canary follows soon after its first renderer. */
const absentMs = 500;

export interface CanaryRoundsOptions extends CanaryParts {
  readonly fleet: Pick<Fleet, 'serving'>;
  readonly book: CanaryBook;
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
  const { fleet, book, log } = options;
  const retryMs = Math.min(options.retryMs, options.intervalMs);
  let pauseMs = retryMs;
  const work = async () => {
    // A failure below is tried again soon.
    pauseMs = retryMs;
    if (!term.holds()) return;
    if (fleet.serving(region).length === 0) {
      pauseMs = absentMs;
      await book.forget(region);
      return;
    }
    const outcome = await runCanary(options, region, options.deadlineMs, term.signal);
    if (outcome === null || !term.holds()) return;
    const pods = fleet.serving(region);
    // Without renderers by now, the state of the region says so.
    if (pods.length === 0) return;
    await book.note(
      region,
      outcome,
      pods.every(({ busy, slots }) => busy >= slots),
    );
    if (outcome.kind === 'completed') pauseMs = options.intervalMs;
  };
  await repeat({ what: `the canary of ${region}`, everyMs: () => pauseMs, signal: term.signal, log }, work);
}
