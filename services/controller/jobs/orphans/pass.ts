import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import { delay } from '@webcapture/shared/runtime/deadline.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { uuidOfFileName } from '@webcapture/shared/files/file-name.ts';
import { storedNamesOf } from '@webcapture/shared/files/extracted-file.ts';
import type { FileStore, ListedFile } from '@webcapture/shared/files/file-store.ts';
import { eachOf } from '../../loops.ts';
import { expireCapture, type ExpiryDeps } from '../expiry.ts';
import { decideFile, type RemovalReason } from './decide-file.ts';
import { RecordFinder } from './records.ts';
import { plus, type PassState } from './state.ts';

/** A page of which nothing could be removed so often is left to the next pass: the rest must not wait for it. */
const maxAttempts = 3;

/** Removals under way at once. */
const parallel = 8;

/** After so many failures on a page and not one success the store is taken to be unavailable. */
const maxFailures = 24;

/** How a pass goes through the files. */
export interface Stride {
  /** Files looked at in one go: one request to the store, some to NATS. */
  readonly pageSize: number;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** Pages as long as can be: a bucket lists a thousand in a request, and the name that comes after a page is one of them. */
export const longStride = ({ now }: Pick<NatsSession, 'now'>): Stride => ({ pageSize: 999, now });

export interface PassDeps extends Stride {
  readonly store: Pick<FileStore, 'list' | 'remove'>;
  readonly finder: Pick<RecordFinder, 'find' | 'ofLeader'>;
  /** Ends a capture whose time is over, and clears away all that an ended one has left. */
  readonly endCapture: (record: CaptureRecord) => Promise<void>;
}

/** What one pass works with. */
export function passDeps(
  parts: ExpiryDeps & { readonly session: NatsSession; readonly store: FileStore },
  stride: Stride = longStride(parts.session),
): PassDeps {
  return {
    store: parts.store,
    finder: new RecordFinder(parts.session),
    // As the task would have done that got lost.
    endCapture: (record: CaptureRecord) => expireCapture(record, parts),
    ...stride,
  };
}

/** A file that should go. */
export interface Finding {
  readonly file: ListedFile;
  readonly why: RemovalReason;
  /** See {@link isDoubtful}. */
  readonly doubtful: boolean;
}

/** What became of a finding; `spared`: the record, asked for anew, says that the file stays. */
export type Outcome = 'removed' | 'spared' | 'withheld' | 'failed';

export interface PassOptions {
  /** False: it only looks. */
  readonly remove: boolean;
  /** Whether doubtful findings are removed too. */
  readonly force: boolean;
  /** Between two pages. */
  readonly pauseMs: number;
  readonly signal: AbortSignal;
  /** Whether this process may act: asked before each removal. */
  readonly holds: () => boolean;
  /** Called for each file that should go: what became of it, or `found` when it is only looked at. */
  readonly onFinding?: (finding: Finding, outcome: Outcome | 'found', error?: unknown) => void;
  /** Called after each page, and when it is given up for now. A pass that is started again with what it was given goes on from there. */
  readonly onPage: (state: PassState) => Promise<void>;
}

/**
 * Looks at all files from where `state` has come to, and removes what should not be there. Returns the state at its end;
 * one without `endedAt` when it was stopped on the way. Throws when NATS or the store does not do as asked.
 */
export async function runPass(state: PassState, deps: PassDeps, options: PassOptions): Promise<PassState> {
  for (let at = state; ;) {
    if (options.signal.aborted || !options.holds()) return at;
    const page = await lookAtPage(deps, at.cursor);
    const ends = await removeFindings(page.findings, deps, options).catch(async (error: unknown) => {
      if (at.tries + 1 >= maxAttempts) return page.findings.map(({ why }) => ({ why, outcome: 'failed' as const }));
      await options.onPage({ ...at, tries: at.tries + 1 });
      throw error;
    });
    if (ends === null) return at;
    const reasons = (outcome: Outcome) => ends.filter((end) => end.outcome === outcome).map(({ why }) => why);
    const found = page.findings.map(({ why }) => why);
    at = {
      ...at,
      tries: 0,
      looked: at.looked + page.files,
      found: plus(at.found, found),
      foundBytes: at.foundBytes + page.findings.reduce((sum, { file }) => sum + file.size, 0),
      removed: plus(at.removed, reasons('removed')),
      withheld: at.withheld + reasons('withheld').length,
      failed: at.failed + reasons('failed').length,
      cursor: page.next,
      endedAt: page.next === null ? deps.now() : null,
    };
    await options.onPage(at);
    if (at.endedAt !== null) return at;
    await delay(options.pauseMs, options.signal);
  }
}

/** Looks at one page of files, and says where the next one begins; null after the last one. Changes nothing. */
async function lookAtPage({ store, finder, now, pageSize }: PassDeps, after: string | null) {
  const { files, next } = await store.list(after, pageSize);
  const records = await finder.find(files.map(({ name }) => uuidOfFileName(name)));
  const findings = files.flatMap((file): Finding[] => {
    const decision = decideFile(file, records.get(uuidOfFileName(file.name)) ?? null, now());
    if (decision.act === 'keep') return [];
    return [{ file, why: decision.why, doubtful: isDoubtful(file, decision.why, now()) }];
  });
  return { files: files.length, findings, next };
}

/**
 * A file without a record whose time is not over may be that of another installation on the same bucket, or the records
 * were lost: people decide. When its time is over nobody can want it any more.
 */
export const isDoubtful = ({ expiresAt }: ListedFile, why: RemovalReason, now: number) =>
  why === 'no_record' && expiresAt > now;

/**
 * Removes what was found, and returns what became of each. One failure does not stop the others; throws the last of many when
 * nothing succeeds. Null when the right to act was lost on the way: the page is to be looked at again.
 */
async function removeFindings(findings: readonly Finding[], deps: PassDeps, options: PassOptions) {
  const { remove, force, holds, onFinding } = options;
  const ends: { readonly why: RemovalReason; readonly outcome: Outcome }[] = [];
  if (!remove) {
    for (const finding of findings) onFinding?.(finding, 'found');
    return ends;
  }
  let [successes, failures] = [0, 0];
  let lastError: unknown;
  const isUnavailable = () => successes === 0 && failures >= maxFailures;
  const onOutcome = (finding: Finding, outcome: Outcome, error?: unknown) => {
    ends.push({ why: finding.why, outcome });
    onFinding?.(finding, outcome, error);
  };
  await eachOf(findings, parallel, async (finding) => {
    if (isUnavailable() || !holds()) return;
    try {
      const outcome = await removeFinding(finding, deps, force);
      successes++;
      onOutcome(finding, outcome);
    } catch (error) {
      failures++;
      lastError = error;
      onOutcome(finding, 'failed', error);
    }
  });
  if (isUnavailable()) throw lastError;
  return holds() ? ends : null;
}

/** The record that was read first may have been a moment old. */
async function removeFinding({ file }: Finding, deps: PassDeps, force: boolean): Promise<Outcome> {
  const record = await deps.finder.ofLeader(uuidOfFileName(file.name));
  const decision = decideFile(file, record, deps.now());
  if (decision.act === 'keep') return 'spared';
  if (isDoubtful(file, decision.why, deps.now()) && !force) return 'withheld';
  if (record === null || !storedNamesOf(record).includes(file.name)) await deps.store.remove(file.name);
  else await deps.endCapture(record);
  return 'removed';
}
