import process from 'node:process';
import type { Percentiles } from '../http-load.ts';

/** A row of a table; `goal` is printed at its end. */
export interface Row {
  readonly name: string;
  readonly result: Percentiles & { readonly perSecond?: number };
  readonly goal?: string;
}

/** Prints a table of times in milliseconds. */
export function printRows(title: string, rows: readonly Row[]): void {
  process.stdout.write(`\n${title}\n`);
  for (const { name, result, goal } of rows) {
    const { perSecond, p50, p99, max } = result;
    const rate = perSecond === undefined ? ''.padEnd(16) : `${perSecond.toFixed(0).padStart(7)} per second`;
    const [a, b, c] = [p50, p99, max].map((time) => time.toFixed(1).padStart(7));
    const behind = goal === undefined ? '' : `   goal: ${goal}`;
    process.stdout.write(`${name.padEnd(46)} ${rate}   p50${a}  p99${b}  max${c} ms${behind}\n`);
  }
}
