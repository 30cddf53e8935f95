import { percentilesOf, type Percentiles } from '../http-load.ts';

/** The turns of contenders: the number of captures per turn, and the number of rounds. */
export interface Turns {
  readonly perTurn: number;
  readonly rounds: number;
}

/** A contender and its number of consecutive captures. */
export interface Turn<C> {
  readonly contender: C;
  readonly captures: number;
}

/**
 * Returns the turns of all contenders in order. Each round starts with another contender, and every second round has the reverse order. A
 * contender therefore does not always run after the same one.
 */
export function turnsOf<C>(contenders: readonly C[], { perTurn, rounds }: Turns): Turn<C>[] {
  return Array.from({ length: rounds }, (_, round) => {
    const shift = round % contenders.length;
    const order = [...contenders.slice(shift), ...contenders.slice(0, shift)];
    return (round % 2 === 0 ? order : order.toReversed()).map((contender) => ({ contender, captures: perTurn }));
  }).flat();
}

/** Percentiles of all times, and the range of the medians of blocks, in milliseconds. */
export interface Spread extends Percentiles {
  readonly captures: number;
  readonly leastP50: number;
  readonly mostP50: number;
}

/** @param perBlock number of consecutive captures in a block */
export function spreadOf(times: readonly number[], perBlock: number): Spread {
  const blocks = Array.from({ length: Math.ceil(times.length / perBlock) }, (_, block) =>
    times.slice(block * perBlock, (block + 1) * perBlock),
  );
  const medians = blocks.map((block) => percentilesOf(block).p50);
  return {
    ...percentilesOf(times),
    captures: times.length,
    leastP50: Math.min(...medians),
    mostP50: Math.max(...medians),
  };
}

/** The start and end of a capture, in milliseconds of one clock. */
export interface Interval {
  readonly start: number;
  readonly end: number;
}

/** Returns the number of captures within a window. A capture that is partly outside counts by the share inside. */
export function capturesWithin(captures: readonly Interval[], window: Interval): number {
  return captures.reduce((sum, { start, end }) => {
    const inside = Math.min(end, window.end) - Math.max(start, window.start);
    return sum + Math.max(0, inside) / (end - start);
  }, 0);
}

/** Returns the geometric mean, which is the right one for ratios. */
export function meanOf(ratios: readonly number[]): number {
  return Math.exp(ratios.reduce((sum, ratio) => sum + Math.log(ratio), 0) / ratios.length);
}
