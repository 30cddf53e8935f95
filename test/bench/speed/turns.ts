import { percentilesOf, type Percentiles } from '../http-load.ts';

/** How contenders take turns: so many captures in a row, so many times. */
export interface Turns {
  readonly perTurn: number;
  readonly rounds: number;
}

/** Who captures, and how often in a row. */
export interface Turn<C> {
  readonly contender: C;
  readonly captures: number;
}

/**
 * The turns of all contenders, in order. Nobody always comes after the same one: each round begins with another contender,
 * and every other round goes backwards.
 */
export function turnsOf<C>(contenders: readonly C[], { perTurn, rounds }: Turns): Turn<C>[] {
  return Array.from({ length: rounds }, (_, round) => {
    const shift = round % contenders.length;
    const order = [...contenders.slice(shift), ...contenders.slice(0, shift)];
    return (round % 2 === 0 ? order : order.toReversed()).map((contender) => ({ contender, captures: perTurn }));
  }).flat();
}

/** Percentiles of all times, and how far the medians of single blocks lie apart. Milliseconds. */
export interface Spread extends Percentiles {
  readonly captures: number;
  readonly leastP50: number;
  readonly mostP50: number;
}

/** @param perBlock captures of a block: so many that follow each other */
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

/** From when to when a capture took, in milliseconds on one clock. */
export interface Interval {
  readonly start: number;
  readonly end: number;
}

/** How many captures were made within a window: of one that reaches beyond it, the share that lies inside. */
export function capturesWithin(captures: readonly Interval[], window: Interval): number {
  return captures.reduce((sum, { start, end }) => {
    const inside = Math.min(end, window.end) - Math.max(start, window.start);
    return sum + Math.max(0, inside) / (end - start);
  }, 0);
}

/** Geometric, as ratios are averaged. */
export function meanOf(ratios: readonly number[]): number {
  return Math.exp(ratios.reduce((sum, ratio) => sum + Math.log(ratio), 0) / ratios.length);
}
