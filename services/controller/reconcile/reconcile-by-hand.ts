import { hostname } from 'node:os';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import { Cache } from '@webcapture/shared/state/cache.ts';
import { Captures } from '@webcapture/shared/state/captures.ts';
import { clearAway } from '@webcapture/shared/state/clear-away.ts';
import { ExpiryIndex } from '@webcapture/shared/state/expiry-index.ts';
import { Tasks } from '@webcapture/shared/state/tasks.ts';
import type { FileStore } from '@webcapture/shared/storage/file-store.ts';
import { removeHtml } from '@webcapture/shared/storage/html-parcel.ts';
import { ReconcileClaim } from './claim.ts';
import type { CommandOptions } from './command-options.ts';
import { findMissing } from './missing-files.ts';
import { passDeps } from './pass-deps.ts';
import { newPass, total, type PassState } from './pass-state.ts';
import { ReconcileProgress } from './progress.ts';
import type { Report } from './report.ts';
import { runPass } from './run-pass.ts';

export interface ByHandDeps {
  readonly session: NatsSession;
  readonly store: FileStore;
  readonly report: Report;
  /** Stops it between two files. */
  readonly signal: AbortSignal;
}

/** What {@link reconcileByHand} ends with. */
export const exitCodes = { fine: 0, trouble: 1, found: 3 } as const;

/** Does what the options say, tells the report, and returns the exit code. Throws what is to be told as trouble. */
export async function reconcileByHand(options: CommandOptions, deps: ByHandDeps): Promise<number> {
  const { session, report } = deps;
  const live = new Entries(session, 'live');
  const claim = new ReconcileClaim(live, `a reconcile by hand (process ${process.pid} on ${hostname()})`);
  const state = await (options.delete ? removing(options, deps, claim) : lookingOnly(deps));
  const missing = options.missing && !deps.signal.aborted ? await countMissing(deps, live) : null;
  report.sum(state, missing, options.delete);
  if (deps.signal.aborted || state.failed > 0) return exitCodes.trouble;
  const left = options.delete ? state.withheld : total(state.found);
  return left + (missing?.count ?? 0) > 0 ? exitCodes.found : exitCodes.fine;
}

function lookingOnly(deps: ByHandDeps): Promise<PassState> {
  return walk(deps, { remove: false, force: false, onPage: () => Promise.resolve() });
}

async function removing({ force }: CommandOptions, deps: ByHandDeps, claim: ReconcileClaim): Promise<PassState> {
  const hold = async () => {
    const other = await claim.take();
    if (other !== null) throw new Error(`${other} removes files right now: wait until it has ended, and try again`);
  };
  await hold();
  try {
    return await walk(deps, { remove: true, force, onPage: hold });
  } finally {
    await claim.release();
  }
}

interface Walk {
  readonly remove: boolean;
  readonly force: boolean;
  readonly onPage: () => Promise<void>;
}

function walk({ session, store, report, signal }: ByHandDeps, how: Walk): Promise<PassState> {
  const cache = new Cache(session);
  const parts = {
    session,
    store,
    captures: new Captures(session),
    tasks: new Tasks(session),
    expiryIndex: new ExpiryIndex(session),
    clearAway: (record: Parameters<typeof clearAway>[0]) =>
      clearAway(record, { store, cache, removeHtml: (name) => removeHtml(session, name) }),
  };
  return runPass(newPass(Date.now()), passDeps(parts), {
    ...how,
    pauseMs: 0,
    signal,
    holds: () => !signal.aborted,
    onFinding: (finding, outcome, error) => report.file(finding, outcome, error),
  });
}

async function countMissing(deps: ByHandDeps, live: Entries) {
  const { session, store, report, signal } = deps;
  let count = 0;
  const onMissing: Parameters<typeof findMissing>[1]['onMissing'] = (record) => {
    count++;
    report.missing(record);
  };
  const captures = new Captures(session);
  const asked = await findMissing({ session, captures, store, now: Date.now }, { signal, onMissing });
  // The leader shows it among its metrics.
  if (!signal.aborted) await new ReconcileProgress(live).keepMissing({ count, at: Date.now() });
  return { asked, count };
}
