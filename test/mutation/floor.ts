import type { GroupName } from './groups.ts';

/** The minimum score of a group of files, from test/mutation/floor.json. */
export interface Floor {
  /** Percentage of mutants that tests detect. */
  readonly score: number;
  /** Number of mutants in the run that measured the score. */
  readonly mutants: number;
  /** Arguments of the run that measured the score; absent if it tested all mutants of the group. */
  readonly sample?: string;
}

export type Floors = Readonly<Partial<Record<GroupName, Floor>>>;

/** The score of a run. `sample` is that of {@link Floor}. */
export interface Measured {
  readonly score: number;
  readonly mutants: number;
  readonly sample?: string | undefined;
}

export type Verdict =
  /** The comparison is not possible: the run has other mutants than the floor, or there is no floor. */
  { readonly kind: 'not compared' } | { readonly kind: 'below' | 'holds' | 'above'; readonly least: number };

/**
 * Compares a run with the floor. The floor of a sample applies exactly to the same sample. For all mutants it is an estimate with a
 * tolerance of two standard errors of the sample.
 */
export function compareWithFloor(floor: Floor | undefined, measured: Measured): Verdict {
  const isFull = measured.sample === undefined;
  if (floor === undefined || (!isFull && measured.sample !== floor.sample)) return { kind: 'not compared' };
  const isEstimate = isFull && floor.sample !== undefined;
  const least = isEstimate ? Math.max(0, floor.score - 2 * standardError(floor)) : floor.score;
  if (measured.score < least) return { kind: 'below', least };
  return { kind: Math.floor(measured.score) > floor.score || isEstimate ? 'above' : 'holds', least };
}

/**
 * Returns the floor after a run of all mutants. The floor never falls. There is one exception: the run replaces the estimate of a sample.
 * Whole percents leave room for tests whose duration varies.
 *
 * @returns undefined if the run may not change the floor
 */
export function raiseFloor(floor: Floor | undefined, measured: Measured): Floor | undefined {
  if (measured.sample !== undefined) return undefined;
  if (floor !== undefined && compareWithFloor(floor, measured).kind !== 'above') return undefined;
  return { score: Math.floor(measured.score), mutants: measured.mutants };
}

/** The standard error of a score that a random sample measured, in percent. */
function standardError({ score, mutants }: Floor): number {
  return mutants === 0 ? 100 : Math.sqrt((score * (100 - score)) / mutants);
}
