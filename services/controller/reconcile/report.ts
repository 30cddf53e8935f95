import type { CaptureRecord } from '@webcapture/shared/contract/capture-record.ts';
import { removalReasons, removalWords } from './decide-file.ts';
import type { Finding } from './look-at-page.ts';
import { total, type ByReason, type PassState } from './pass-state.ts';
import type { Outcome } from './remove-findings.ts';

/** What is printed of a reconcile by hand: lines for people, or JSON. */
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
    const words = { found: 'would remove', removed: 'removed', spared: 'spared', withheld: 'left', failed: 'FAILED' };
    const doubt = doubtful ? ', but its time is not over' : '';
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

  /** `missing`: null when it was not looked for. */
  sum(state: PassState, missing: { readonly asked: number; readonly count: number } | null, deleted: boolean): void {
    const { looked, found, foundBytes, removed, withheld, failed } = state;
    if (this.#json) {
      const whole = state.endedAt !== null;
      return this.#object({ kind: 'sum', whole, looked, found, foundBytes, removed, withheld, failed, missing });
    }
    this.#print(
      `${looked} files looked at${state.endedAt === null ? ', then stopped: the rest was not looked at' : ''}`,
    );
    if (total(found) === 0) this.#print('each of them belongs to a capture');
    else this.#print(`${total(found)} of them should not be there, ${bytes(foundBytes)}${list(found)}`);
    if (deleted) {
      this.#print(
        `${total(removed)} removed${list(removed)}, ${failed} failed, ${withheld} left, since their time is not over (--force)`,
      );
    }
    if (missing !== null) this.#print(`${missing.count} of ${missing.asked} completed captures have lost their file`);
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

/** The store's own errors are worded for clients; why they came is in their causes. */
function reasonOf(error: Error): string {
  return error.cause instanceof Error ? reasonOf(error.cause) : error.message;
}
