import { relative } from 'node:path';
import type { Mutant } from './mutants.ts';

/** The result of a mutant; lines and columns start at 1. */
export interface Result extends Mutant {
  readonly status: string;
}

export interface Tally {
  /** A test failed or timed out. */
  detected: number;
  survived: number;
  /** No test runs the code. */
  uncovered: number;
}

export function tallyOf(results: readonly Result[]): Tally {
  const tally: Tally = { detected: 0, survived: 0, uncovered: 0 };
  for (const { status } of results) {
    if (status === 'Killed' || status === 'Timeout') tally.detected += 1;
    if (status === 'Survived') tally.survived += 1;
    if (status === 'NoCoverage') tally.uncovered += 1;
  }
  return tally;
}

/** The number of mutants without those that cannot run. */
export const countOf = ({ detected, survived, uncovered }: Tally) => detected + survived + uncovered;

/** Percentage of mutants that a test detects; 100 if there are none. */
export function scoreOf(tally: Tally): number {
  const count = countOf(tally);
  return count === 0 ? 100 : (100 * tally.detected) / count;
}

/** One line for each file, the lowest score first. */
export function describeFiles(results: readonly Result[]): string[] {
  const byFile = Map.groupBy(results, ({ fileName }) => relative('.', fileName));
  const tallies = [...byFile].map(([file, own]) => ({ file, tally: tallyOf(own) }));
  return tallies
    .toSorted((a, b) => scoreOf(a.tally) - scoreOf(b.tally))
    .map(({ file, tally }) => `${scoreOf(tally).toFixed(1).padStart(5)} %  ${file}  ${describeTally(tally)}`);
}

export const describeTally = ({ detected, survived, uncovered }: Tally) =>
  `${detected} detected, ${survived} survived, ${uncovered} in code that no test runs`;

/** Formats a surviving mutant as `file:line:column mutator: code → replacement`. */
export function describeMutant({ fileName, location, mutatorName, replacement }: Result, source: string): string {
  const { line, column } = location.start;
  const code = shorten(textOf(source, location));
  return `${relative('.', fileName)}:${line}:${column} ${mutatorName}: ${code} → ${shorten(replacement)}`;
}

function textOf(source: string, { start, end }: Result['location']): string {
  const lines = source.split('\n').slice(start.line - 1, end.line);
  lines[lines.length - 1] = (lines.at(-1) ?? '').slice(0, end.column - 1);
  lines[0] = (lines[0] ?? '').slice(start.column - 1);
  return lines.join('\n');
}

const maxTextLength = 100;

function shorten(code: string): string {
  const line = code.replaceAll(/\s+/g, ' ');
  return line.length > maxTextLength ? `${line.slice(0, maxTextLength)}…` : line;
}
