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

/** After this many attempts without a removal, a page is left to the next pass, so that it does not block the rest. */
const maxAttempts = 3;

/** Maximum concurrent removals. */
const parallel = 8;

/** After this many failures on a page without a success the store is considered unavailable. */
const maxFailures = 24;

/** How a pass iterates over the files. */
export interface Stride {
  /** Files checked per step: one request to the store, and some to NATS. */
  readonly pageSize: number;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** The longest pages: a bucket lists a thousand files per request, and the name of the next page is one of them. */
export const longStride = ({ now }: Pick<NatsSession, 'now'>): Stride => ({ pageSize: 999, now });

export interface PassDeps extends Stride {
  readonly store: Pick<FileStore, 'list' | 'remove'>;
  readonly finder: Pick<RecordFinder, 'find' | 'ofLeader'>;
  /** Ends an overdue capture, and removes everything that an ended one has left. */
  readonly endCapture: (record: CaptureRecord) => Promise<void>;
}

/** Returns the dependencies of a pass. */
export function passDeps(
  parts: ExpiryDeps & { readonly session: NatsSession; readonly store: FileStore },
  stride: Stride = longStride(parts.session),
): PassDeps {
  return {
    store: parts.store,
    finder: new RecordFinder(parts.session),
    // As the lost task would have done.
    endCapture: (record: CaptureRecord) => expireCapture(record, parts),
    ...stride,
  };
}

/** A file that should be removed. */
export interface Finding {
  readonly file: ListedFile;
  readonly why: RemovalReason;
  /** See {@link isDoubtful}. */
  readonly doubtful: boolean;
}

/** Outcome of a finding; `spared`: a fresh read of the record shows that the file stays. */
export type Outcome = 'removed' | 'spared' | 'withheld' | 'failed';

export interface PassOptions {
  /** False for a dry run. */
  readonly remove: boolean;
  /** Whether doubtful findings are removed too. */
  readonly force: boolean;
  /** Pause between two pages. */
  readonly pauseMs: number;
  readonly signal: AbortSignal;
  /** Whether this process may act; checked before each removal. */
  readonly holds: () => boolean;
  /** Called for each file that should be removed, with its outcome, or `found` in a dry run. */
  readonly onFinding?: (finding: Finding, outcome: Outcome | 'found', error?: unknown) => void;
  /** Called after each page, and when a page fails. A pass that starts with the given state continues there. */
  readonly onPage: (state: PassState) => Promise<void>;
}

/**
 * Checks all files from `state` on, and removes orphans. Returns the state at the end, without `endedAt` if the pass
 * was stopped. Throws when NATS or the store fails.
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

/** Checks one page of files without changes. Returns its findings and the start of the next page, null after the last. */
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
 * A file without a record that has not expired may belong to another installation on the same bucket, or the records
 * may be lost, so a person decides. After its expiry it is safe to remove.
 */
export const isDoubtful = ({ expiresAt }: ListedFile, why: RemovalReason, now: number) =>
  why === 'no_record' && expiresAt > now;

/**
 * Removes the findings and returns their outcomes. One failure does not stop the others; throws the last failure if
 * there are many and no success. Returns null when the right to act was lost: the page must be checked again.
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

/** Reads the record again, because the first read may be outdated. */
async function removeFinding({ file }: Finding, deps: PassDeps, force: boolean): Promise<Outcome> {
  const record = await deps.finder.ofLeader(uuidOfFileName(file.name));
  const decision = decideFile(file, record, deps.now());
  if (decision.act === 'keep') return 'spared';
  if (isDoubtful(file, decision.why, deps.now()) && !force) return 'withheld';
  if (record === null || !storedNamesOf(record).includes(file.name)) await deps.store.remove(file.name);
  else await deps.endCapture(record);
  return 'removed';
}
