import type { GroupName } from './groups.ts';

/** The least score of a group of files, as test/mutation/floor.json keeps it. */
export interface Floor {
  /** Percent of the mutants that tests notice. */
  readonly score: number;
  /** How many mutants it was measured with. */
  readonly mutants: number;
  /** The arguments of the run that measured it; absent when all mutants of the group were tested. */
  readonly sample?: string;
}

export type Floors = Readonly<Partial<Record<GroupName, Floor>>>;

/** What a run measured; `sample` as in {@link Floor}. */
export interface Measured {
  readonly score: number;
  readonly mutants: number;
  readonly sample?: string | undefined;
}

export type Verdict =
  /** A run of other mutants than those of the floor, or no floor. */
  { readonly kind: 'not compared' } | { readonly kind: 'below' | 'holds' | 'above'; readonly least: number };

/**
 * Compares a run with the floor. The floor of a sample holds exactly for the same sample. For all mutants it is an estimate, which may be
 * wrong by two standard errors of the sample.
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
 * The floor after a run of all mutants: never lower than before, except that such a run replaces the estimate of a sample. Whole percents
 * leave room for tests whose time is not always the same.
 *
 * @returns undefined when the run may not change the floor
 */
export function raiseFloor(floor: Floor | undefined, measured: Measured): Floor | undefined {
  if (measured.sample !== undefined) return undefined;
  if (floor !== undefined && compareWithFloor(floor, measured).kind !== 'above') return undefined;
  return { score: Math.floor(measured.score), mutants: measured.mutants };
}

/** Of a share that was measured in a random sample, in percent. */
function standardError({ score, mutants }: Floor): number {
  return mutants === 0 ? 100 : Math.sqrt((score * (100 - score)) / mutants);
}
