import { backoffMs } from '@webcapture/shared/lifecycle/delay.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { uuidOfFileName } from '@webcapture/shared/storage/file-name.ts';
import type { FileStore } from '@webcapture/shared/storage/file-store.ts';
import type { Logger } from '@webcapture/shared/telemetry/logger.ts';
import type { Term } from '../leader/election.ts';
import { repeat } from '../repeat.ts';
import type { ExpiryDeps } from '../tasks/expire-capture.ts';
import type { ReconcileClaim } from './claim.ts';
import type { ReconcileMetrics } from './metrics.ts';
import { longStride, passDeps, type Stride } from './pass-deps.ts';
import { newPass, total, type PassState } from './pass-state.ts';
import type { ReconcileProgress } from './progress.ts';
import { runPass } from './run-pass.ts';

/** How often it is looked whether a pass is due. */
const lookMs = 60_000;

/** Between two pages: nobody waits for it, and the store and NATS have other things to do. */
const pauseMs = 500;

/** After a failure it is tried again, from the page that failed, in this at first and in this at most. */
const retryMs = { first: 30_000, most: 15 * 60_000 };

export interface ReconcileParts extends ExpiryDeps {
  readonly session: NatsSession;
  readonly store: FileStore;
  readonly progress: ReconcileProgress;
  readonly claim: ReconcileClaim;
  readonly reconcileMetrics: ReconcileMetrics;
  readonly log: Logger;
}

/**
 * Compares all files with their records from time to time, for as long as the term lasts. A pass that was broken off, by
 * this process or another one, is gone on with. Never throws.
 *
 * @param intervalMs from the start of one pass to that of the next; 0: never
 */
export async function reconcileChore(parts: ReconcileParts, intervalMs: number, term: Term): Promise<void> {
  if (intervalMs === 0) return;
  const { log } = parts;
  let failures = 0;
  let waitMs = 0;
  await repeat(
    { what: 'the reconcile of files and records', everyMs: () => waitMs, signal: term.signal, log },
    async () => {
      // For the case that what follows fails.
      waitMs = backoffMs(++failures, retryMs.first, retryMs.most);
      await reconcileIfDue(parts, intervalMs, term);
      failures = 0;
      waitMs = Math.min(lookMs, intervalMs);
    },
  );
}

/** Makes a pass if one is due, or the rest of one. */
export async function reconcileIfDue(
  parts: ReconcileParts,
  intervalMs: number,
  term: Term,
  pace: Stride & { readonly pauseMs: number } = { ...longStride, pauseMs },
): Promise<void> {
  const { progress, claim, reconcileMetrics: metrics, log } = parts;
  const last = await progress.pass();
  metrics.known(last, await progress.missing());
  const unfinished = last !== null && last.endedAt === null;
  if (!unfinished && last !== null && Date.now() < last.startedAt + intervalMs) return;
  if (!term.holds() || (await claim.take()) !== null) return;
  const begun = unfinished ? last : newPass(Date.now());
  let { looked } = begun;
  const state = await runPass(begun, passDeps(parts, pace), {
    pauseMs: pace.pauseMs,
    remove: true,
    force: false,
    signal: term.signal,
    holds: () => term.holds(),
    onFinding: (finding, outcome, error) => {
      const { file, why } = finding;
      if (outcome === 'removed') {
        metrics.removed(why);
        log.info(
          { uuid: uuidOfFileName(file.name), reason: why, size: file.size },
          'a file was removed that should not be there',
        );
      } else if (outcome === 'failed' || outcome === 'withheld') {
        metrics.left(outcome);
        log.debug(
          { uuid: uuidOfFileName(file.name), reason: why, outcome, err: error },
          'a file was left that should not be there',
        );
      }
    },
    onPage: async (at) => {
      metrics.looked(at.looked - looked);
      ({ looked } = at);
      await progress.keepPass(at);
      const other = at.endedAt === null ? await claim.take() : null;
      if (other !== null) throw new Error(`the reconcile was taken over by ${other}`);
    },
  });
  if (state.endedAt === null) return;
  await claim.release();
  metrics.known(state, null);
  tell(state, log);
}

function tell(state: PassState, log: Logger): void {
  const { looked, removed, withheld, failed, startedAt, endedAt } = state;
  const facts = { looked, removed, withheld, failed, seconds: Math.round(((endedAt ?? startedAt) - startedAt) / 1000) };
  const summary = `files and records were compared: ${looked} looked at, ${total(removed)} removed`;
  if (withheld > 0) {
    const hint = 'another installation’s on the same bucket, or their records are lost: see npm run reconcile';
    log.warn(facts, `${summary}, ${withheld} without a record left until their time is over; ${hint}`);
  } else if (failed > 0) log.warn(facts, `${summary}, ${failed} could not be removed; the next pass tries again`);
  else log.info(facts, summary);
}
