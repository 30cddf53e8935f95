import { hostname } from 'node:os';
import { parseArgs } from 'node:util';
import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import { Cache } from '@webcapture/shared/captures/cache.ts';
import { Captures } from '@webcapture/shared/captures/captures.ts';
import { removeCaptureFiles } from '@webcapture/shared/queue/follow-ups.ts';
import { ExpiryIndex } from '@webcapture/shared/captures/expiry-index.ts';
import { Tasks } from '@webcapture/shared/queue/tasks.ts';
import type { FileStore } from '@webcapture/shared/files/file-store.ts';
import { removeHtml } from '@webcapture/shared/files/stored-html.ts';
import { removalReasons, removalWords } from '../jobs/orphans/decide-file.ts';
import { passDeps, runPass, type Finding, type Outcome, type PassOptions } from '../jobs/orphans/pass.ts';
import { findMissing } from '../jobs/orphans/records.ts';
import {
  type ByReason,
  keepMissing,
  newPass,
  OrphanCollectionLease,
  type PassState,
  total,
} from '../jobs/orphans/state.ts';

export const usage = `Compares the files in the store with the records of captures.

usage: npm run reconcile -- [options]
       node services/controller/reconcile/main.ts [options]

Without options, it changes nothing and prints each orphaned file with the reason.

  --delete    remove these files
  --force     with --delete: also remove files without a record that have not expired. By default
              they are kept, because their records may be lost, or they may belong to another
              installation.
  --missing   also check the file of every completed capture, and print captures whose file is
              missing. Never changes them. Makes one request to the store for each capture.
  --json      print one JSON object a line
  --help      print this text

Reasons to remove a file:
  no_record   the file is older than 24 h, and no capture has this file name
  other_file  its capture has another file
  ended       its capture has failed, has expired or was deleted more than an hour ago, and the
              task that removes the file was lost
  overdue     its capture expired more than an hour ago, but is still open

It reads the same variables as the controller: WEBCAPTURE_NATS_URL and the others of NATS, and those
of the store. In a cluster: kubectl exec deploy/webcapture-controller -- node services/controller/reconcile/main.ts
"npm run reconcile" finds the NATS of a running "npm start" (WEBCAPTURE_DATA_DIR).

Exit code: 0 no orphaned or missing files remain, 3 some were found and not changed, 1 the command
failed or is incomplete, 2 an option is unknown, 78 a variable is invalid.
`;

export type CommandOptions = ReturnType<typeof parseOptions>;

/** Throws a TypeError whose message names the invalid option. */
export function parseOptions(args: readonly string[]) {
  const flag = { type: 'boolean', default: false } as const;
  const { values } = parseArgs({
    args: [...args],
    options: { delete: flag, force: flag, missing: flag, json: flag, help: flag },
  });
  if (values.force && !values.delete) throw new TypeError('--force requires --delete');
  return values;
}

export interface CommandDeps {
  readonly session: NatsSession;
  readonly store: FileStore;
  readonly report: Report;
  /** Stops the command between two files. */
  readonly signal: AbortSignal;
}

/** Exit codes of {@link runCommand}. */
export const exitCodes = { fine: 0, trouble: 1, found: 3 } as const;

/** Runs the command, prints the report, and returns the exit code. Throws an Error whose message is to be printed. */
export async function runCommand(options: CommandOptions, deps: CommandDeps): Promise<number> {
  const { session, report } = deps;
  const live = new Entries(session, 'live');
  const holder = `a reconcile by hand (process ${process.pid} on ${hostname()})`;
  const state = await (options.delete
    ? removeOrphans(options, deps, new OrphanCollectionLease(live, holder))
    : walk(deps, { remove: false, force: false, onPage: () => Promise.resolve() }));
  const missing = options.missing && !deps.signal.aborted ? await countMissing(deps, live) : null;
  report.sum(state, missing, options.delete);
  if (deps.signal.aborted || state.failed > 0) return exitCodes.trouble;
  const left = options.delete ? state.withheld : total(state.found);
  return left + (missing?.count ?? 0) > 0 ? exitCodes.found : exitCodes.fine;
}

async function removeOrphans({ force }: CommandOptions, deps: CommandDeps, lease: OrphanCollectionLease) {
  const takeLease = async () => {
    const other = await lease.take();
    if (other !== null) throw new Error(`${other} is removing files: wait until it has finished, and retry`);
  };
  await takeLease();
  try {
    return await walk(deps, { remove: true, force, onPage: takeLease });
  } finally {
    await lease.release();
  }
}

function walk(
  { session, store, report, signal }: CommandDeps,
  how: Pick<PassOptions, 'remove' | 'force' | 'onPage'>,
): Promise<PassState> {
  const cache = new Cache(session);
  const parts = {
    session,
    store,
    captures: new Captures(session),
    tasks: new Tasks(session),
    expiryIndex: new ExpiryIndex(session),
    removeCaptureFiles: (record: CaptureRecord) =>
      removeCaptureFiles(record, { store, cache, removeHtml: (name) => removeHtml(session, name) }),
  };
  return runPass(newPass(session.now()), passDeps(parts), {
    ...how,
    pauseMs: 0,
    signal,
    holds: () => !signal.aborted,
    onFinding: (finding, outcome, error) => report.file(finding, outcome, error),
  });
}

async function countMissing(deps: CommandDeps, live: Entries) {
  const { session, store, report, signal } = deps;
  let count = 0;
  const onMissing = (record: CaptureRecord) => {
    count++;
    report.missing(record);
  };
  const captures = new Captures(session);
  const asked = await findMissing({ session, captures, store, now: session.now }, { signal, onMissing });
  // The leader exposes the count as a metric.
  if (!signal.aborted) await keepMissing(live, { count, at: session.now() });
  return { asked, count };
}

/** Report of a manual reconcile: lines for people, or JSON. */
export class Report {
  readonly #print: (line: string) => void;
  readonly #json: boolean;

  constructor(print: (line: string) => void, json: boolean) {
    this.#print = print;
    this.#json = json;
  }

  file({ file, why, doubtful }: Finding, outcome: Outcome | 'found', error?: unknown): void {
    const { name, size } = file;
    const storedAt = new Date(file.storedAt).toISOString();
    const problem = error instanceof Error ? { error: reasonOf(error) } : {};
    if (this.#json)
      return this.#object({ kind: 'file', outcome, name, size, storedAt, reason: why, doubtful, ...problem });
    const words = { found: 'would remove', removed: 'removed', spared: 'spared', withheld: 'kept', failed: 'FAILED' };
    const doubt = doubtful ? ', but it has not expired' : '';
    const failure = error instanceof Error ? ` (${reasonOf(error)})` : '';
    this.#print(
      `${words[outcome].padEnd(12)}  ${name}  ${bytes(size).padStart(8)}  stored ${storedAt}  ` +
        `${why}: ${removalWords[why]}${doubt}${failure}`,
    );
  }

  missing({ account, uuid, fileName, endedAt, expiresAt }: CaptureRecord): void {
    const completedAt = endedAt === undefined ? null : new Date(endedAt).toISOString();
    const until = new Date(expiresAt).toISOString();
    if (this.#json) {
      return this.#object({ kind: 'missing', account, uuid, name: fileName, completedAt, expiresAt: until });
    }
    this.#print(
      `missing       ${fileName}  of ${account}, completed ${completedAt ?? 'at an unknown time'}, kept until ${until}`,
    );
  }

  /** `missing`: null if missing files were not counted. */
  sum(state: PassState, missing: { readonly asked: number; readonly count: number } | null, deleted: boolean): void {
    const { looked, found, foundBytes, removed, withheld, failed } = state;
    if (this.#json) {
      const whole = state.endedAt !== null;
      return this.#object({ kind: 'sum', whole, looked, found, foundBytes, removed, withheld, failed, missing });
    }
    this.#print(`${looked} files checked${state.endedAt === null ? ', then stopped: the rest was not checked' : ''}`);
    if (total(found) === 0) this.#print('no orphaned files');
    else this.#print(`${total(found)} of them orphaned, ${bytes(foundBytes)}${list(found)}`);
    if (deleted) {
      this.#print(
        `${total(removed)} removed${list(removed)}, ${failed} failed, ${withheld} kept because they have not expired (--force)`,
      );
    }
    if (missing !== null) this.#print(`${missing.count} of ${missing.asked} completed captures have no file`);
    if (!deleted && total(found) > 0) this.#print('Nothing was changed. To remove these files: --delete');
  }

  #object(value: object): void {
    this.#print(JSON.stringify(value));
  }
}

const list = (counts: ByReason) => {
  const parts = removalReasons.filter((reason) => counts[reason] > 0).map((reason) => `${counts[reason]} ${reason}`);
  return parts.length === 0 ? '' : `: ${parts.join(', ')}`;
};

function bytes(count: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  let [value, unit] = [count, 0];
  for (; value >= 1000 && unit < units.length - 1; unit++) value /= 1000;
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

/** Returns the message of the root cause, because errors of the store have messages for clients. */
function reasonOf(error: Error): string {
  return error.cause instanceof Error ? reasonOf(error.cause) : error.message;
}
