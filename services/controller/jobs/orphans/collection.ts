import type { Registry } from 'prom-client';
import { backoffMs } from '@webcapture/shared/runtime/deadline.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import type { Entries } from '@webcapture/shared/nats/entries.ts';
import { uuidOfFileName } from '@webcapture/shared/files/file-name.ts';
import type { FileStore } from '@webcapture/shared/files/file-store.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import type { Term } from '../../leader/election.ts';
import { repeat } from '../../loops.ts';
import { counterOf, gaugeOf } from '../../metrics.ts';
import type { ExpiryDeps } from '../expiry.ts';
import { removalReasons } from './decide-file.ts';
import { longStride, passDeps, runPass, type Stride } from './pass.ts';
import {
  keepPass,
  type MissingCount,
  newPass,
  type OrphanCollectionLease,
  type PassState,
  readMissing,
  readPass,
  total,
} from './state.ts';

/** Interval at which the leader checks whether a pass is due. */
const checkIntervalMs = 60_000;

/** Pause between two pages: the pass is not urgent, and the store and NATS have other work. */
const pauseMs = 500;

/** Backoff after a failure; the next attempt starts with the failed page. */
const retryMs = { first: 30_000, max: 15 * 60_000 };

export interface OrphanCollectionDeps extends ExpiryDeps {
  readonly session: NatsSession;
  readonly store: FileStore;
  readonly live: Entries;
  readonly collectionLease: OrphanCollectionLease;
  readonly orphanMetrics: OrphanMetrics;
  readonly log: Logger;
}

/**
 * Compares all files with their records periodically, during the term. Continues a pass that this or another process interrupted.
 * Never throws.
 *
 * @param intervalMs from the start of one pass to the start of the next; 0: never
 */
export async function collectOrphans(parts: OrphanCollectionDeps, intervalMs: number, term: Term): Promise<void> {
  if (intervalMs === 0) return;
  const everyMs = (failures: number) =>
    failures === 0 ? Math.min(checkIntervalMs, intervalMs) : backoffMs(failures, retryMs.first, retryMs.max);
  await repeat({ what: 'orphan collection', everyMs, signal: term.signal, log: parts.log }, () =>
    collectOrphansIfDue(parts, intervalMs, term),
  );
}

/** Makes a pass, or finishes an interrupted one, if it is due. */
export async function collectOrphansIfDue(
  parts: OrphanCollectionDeps,
  intervalMs: number,
  term: Term,
  pace: Stride & { readonly pauseMs: number } = { ...longStride(parts.session), pauseMs },
): Promise<void> {
  const { live, collectionLease, orphanMetrics: metrics, log } = parts;
  const last = await readPass(live);
  showProgress(metrics, last, await readMissing(live));
  const unfinished = last !== null && last.endedAt === null;
  if (!unfinished && last !== null && pace.now() < last.startedAt + intervalMs) return;
  if (!term.holds() || (await collectionLease.take()) !== null) return;
  const begun = unfinished ? last : newPass(pace.now());
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
        metrics.removed.inc({ reason: why });
        log.info({ uuid: uuidOfFileName(file.name), reason: why, size: file.size }, 'removed an orphaned file');
      } else if (outcome === 'failed' || outcome === 'withheld') {
        metrics.left.inc({ why: outcome });
        log.debug({ uuid: uuidOfFileName(file.name), reason: why, outcome, err: error }, 'orphaned file not removed');
      }
    },
    onPage: async (at) => {
      metrics.looked.inc(at.looked - looked);
      ({ looked } = at);
      await keepPass(live, at);
      const other = at.endedAt === null ? await collectionLease.take() : null;
      if (other !== null) throw new Error(`the lease of the orphan collection was taken by ${other}`);
    },
  });
  if (state.endedAt === null) return;
  await collectionLease.release();
  showProgress(metrics, state, null);
  logSummary(state, log);
}

function logSummary(state: PassState, log: Logger): void {
  const { looked, removed, withheld, failed, startedAt, endedAt } = state;
  const facts = { looked, removed, withheld, failed, seconds: Math.round(((endedAt ?? startedAt) - startedAt) / 1000) };
  const summary = `orphan collection finished: ${looked} files checked, ${total(removed)} removed`;
  if (withheld > 0) {
    const hint =
      'they belong to another installation on the same bucket, or their records are lost: see npm run reconcile';
    log.warn(facts, `${summary}, ${withheld} files without a record kept until they expire; ${hint}`);
  } else if (failed > 0) log.warn(facts, `${summary}, ${failed} not removed; retrying in the next pass`);
  else log.info(facts, summary);
}

type OrphanMetrics = ReturnType<typeof createOrphanMetrics>;

export const createOrphanMetrics = (registry: Registry) => ({
  looked: counterOf(
    registry,
    'webcapture_reconcile_files_total',
    'Files that orphan collections compared with their records.',
  ),
  removed: counterOf(
    registry,
    'webcapture_reconcile_removed_files_total',
    'Orphans removed, by reason: no_record, other_file (the capture has another file), ended (the capture failed, expired or was deleted) or overdue.',
    {
      reason: removalReasons,
    },
  ),
  left: counterOf(
    registry,
    'webcapture_reconcile_left_files_total',
    'Orphans not removed, by reason: failed (the store failed) or withheld (the file may belong to another installation).',
    { why: ['failed', 'withheld'] },
  ),
  missing: gaugeOf(
    registry,
    'webcapture_reconcile_missing_files',
    'Completed captures without a file, as counted by the last run of npm run reconcile -- --missing.',
  ),
  endedAt: gaugeOf(
    registry,
    'webcapture_reconcile_last_end_timestamp_seconds',
    'Unix time of the end of the last orphan collection.',
  ),
  seconds: gaugeOf(registry, 'webcapture_reconcile_last_duration_seconds', 'Duration of the last orphan collection.'),
});

/** Sets the metrics from the stored state of the last pass and the last count. */
function showProgress(metrics: OrphanMetrics, pass: PassState | null, missing: MissingCount | null): void {
  if (missing !== null) metrics.missing.set(missing.count);
  if (pass === null || pass.endedAt === null) return;
  metrics.endedAt.set(pass.endedAt / 1000);
  metrics.seconds.set((pass.endedAt - pass.startedAt) / 1000);
}
