import { delay } from '@webcapture/shared/lifecycle/delay.ts';
import type { RemovalReason } from './decide-file.ts';
import { lookAtPage, type Finding, type LookDeps } from './look-at-page.ts';
import { plus, type PassState } from './pass-state.ts';
import { removeFindings, type Outcome, type RemovalDeps, type RemovalOptions } from './remove-findings.ts';

/** A page of which nothing could be removed so often is left to the next pass: the rest must not wait for it. */
const mostTries = 3;

export type PassDeps = LookDeps & RemovalDeps;

export interface PassOptions extends Pick<RemovalOptions, 'holds' | 'force'> {
  /** False: it only looks. */
  readonly remove: boolean;
  /** Between two pages. */
  readonly pauseMs: number;
  readonly signal: AbortSignal;
  /** Hears of each file that should go: what became of it, or `found` when it is only looked at. */
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
    const outcomes = await deal(page.findings, deps, options).catch(async (error: unknown) => {
      if (at.tries + 1 >= mostTries) return { removed: [], withheld: 0, failed: page.findings.length };
      await options.onPage({ ...at, tries: at.tries + 1 });
      throw error;
    });
    if (outcomes === null) return at;
    at = {
      ...at,
      tries: 0,
      looked: at.looked + page.files,
      found: plus(
        at.found,
        page.findings.map(({ why }) => why),
      ),
      foundBytes: at.foundBytes + page.findings.reduce((sum, { file }) => sum + file.size, 0),
      removed: plus(at.removed, outcomes.removed),
      withheld: at.withheld + outcomes.withheld,
      failed: at.failed + outcomes.failed,
      cursor: page.next,
      endedAt: page.next === null ? deps.now() : null,
    };
    await options.onPage(at);
    if (at.endedAt !== null) return at;
    await delay(options.pauseMs, options.signal);
  }
}

/** Null when the right to act was lost on the way: the page is to be looked at again. */
async function deal(findings: readonly Finding[], deps: RemovalDeps, options: PassOptions) {
  const { remove, onFinding } = options;
  const removed: RemovalReason[] = [];
  const counts = { withheld: 0, failed: 0 };
  if (!remove) {
    for (const finding of findings) onFinding?.(finding, 'found');
    return { removed, ...counts };
  }
  const onOutcome: RemovalOptions['onOutcome'] = (finding, outcome, error) => {
    if (outcome === 'removed') removed.push(finding.why);
    else if (outcome !== 'spared') counts[outcome]++;
    onFinding?.(finding, outcome, error);
  };
  const done = await removeFindings(findings, deps, { ...options, onOutcome });
  return done ? { removed, ...counts } : null;
}
