import type { CaptureRecord } from '@webcapture/shared/contract/capture-record.ts';
import type { FileStore } from '@webcapture/shared/storage/file-store.ts';
import { uuidOfFileName } from '@webcapture/shared/storage/file-name.ts';
import { decideFile } from './decide-file.ts';
import { eachOf } from './each-of.ts';
import { isDoubtful, type Finding } from './look-at-page.ts';
import type { RecordFinder } from './record-finder.ts';

/** Removals under way at once. */
const parallel = 8;

/** After so many failures on a page and not one success the store is taken to be away. */
const mostFailures = 24;

/** What became of a finding; `spared`: the record, asked for anew, says that the file stays. */
export type Outcome = 'removed' | 'spared' | 'withheld' | 'failed';

export interface RemovalDeps {
  readonly store: Pick<FileStore, 'remove'>;
  readonly finder: Pick<RecordFinder, 'ofLeader'>;
  /** Ends a capture whose time is over, and clears away all that an ended one has left. */
  readonly endCapture: (record: CaptureRecord) => Promise<void>;
  readonly now: () => number;
}

export interface RemovalOptions {
  /** Whether this process may act: asked before each removal. */
  readonly holds: () => boolean;
  /** Whether doubtful findings are removed too. */
  readonly force: boolean;
  readonly onOutcome: (finding: Finding, outcome: Outcome, error?: unknown) => void;
}

/**
 * Removes what was found. One failure does not stop the others; throws the last of many when nothing succeeds. False
 * when the right to act was lost on the way.
 */
export async function removeFindings(
  findings: readonly Finding[],
  deps: RemovalDeps,
  { holds, force, onOutcome }: RemovalOptions,
): Promise<boolean> {
  let [successes, failures] = [0, 0];
  let lastError: unknown;
  const isAway = () => successes === 0 && failures >= mostFailures;
  await eachOf(findings, parallel, async (finding) => {
    if (isAway() || !holds()) return;
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
  if (isAway()) throw lastError;
  return holds();
}

/** The record that was read first may have been a moment old. */
async function removeFinding({ file }: Finding, deps: RemovalDeps, force: boolean): Promise<Outcome> {
  const record = await deps.finder.ofLeader(uuidOfFileName(file.name));
  const decision = decideFile(file, record, deps.now());
  if (decision.act === 'keep') return 'spared';
  if (isDoubtful(file, decision.why, deps.now()) && !force) return 'withheld';
  if (record === null || record.fileName !== file.name) await deps.store.remove(file.name);
  else await deps.endCapture(record);
  return 'removed';
}
