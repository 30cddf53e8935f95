import { removalReasons, type RemovalReason } from './decide-file.ts';

export type ByReason = Readonly<Record<RemovalReason, number>>;

/** How far a pass over all files has come, and what it has found until there. Times in Unix milliseconds. */
export interface PassState {
  readonly startedAt: number;
  /** Null while there is more to look at. */
  readonly endedAt: number | null;
  /** Where it goes on; null at its begin. */
  readonly cursor: string | null;
  /** How often the store has refused everything on the page that comes next. */
  readonly tries: number;
  /** Files looked at. */
  readonly looked: number;
  /** Files that should go, and their bytes. */
  readonly found: ByReason;
  readonly foundBytes: number;
  readonly removed: ByReason;
  /** Left where they are, as too many of their neighbours have no record either. */
  readonly withheld: number;
  /** The store did not remove them. */
  readonly failed: number;
}

const nothing: ByReason = Object.freeze({ no_record: 0, other_file: 0, ended: 0, overdue: 0 });

export function newPass(startedAt: number): PassState {
  return {
    startedAt,
    endedAt: null,
    cursor: null,
    tries: 0,
    looked: 0,
    found: nothing,
    foundBytes: 0,
    removed: nothing,
    withheld: 0,
    failed: 0,
  };
}

/** Both together. */
export function plus(some: ByReason, more: readonly RemovalReason[]): ByReason {
  const sum = { ...some };
  for (const reason of more) sum[reason]++;
  return sum;
}

export const total = (counts: ByReason) => removalReasons.reduce((sum, reason) => sum + counts[reason], 0);
