import process from 'node:process';
import { tableOf } from './markdown.ts';

type Bound = 'at most' | 'at least';

/** The numbers of this run that have a goal, as rows of {@link goalsTable}. */
const rows: (readonly [what: string, measured: string, goal: string, verdict: string])[] = [];

/** Adds a number with its goal to the table at the end of the run. Returns whether the goal is met. */
export function noteGoal(what: string, value: number, goal: number, unit = '', bound: Bound = 'at most') {
  const isMet = bound === 'at most' ? value <= goal : value >= goal;
  rows.push([what, `${round(value)}${unit}`, `${bound} ${goal}${unit}`, isMet ? 'met' : 'missed']);
  return isMet;
}

/** Returns the table of all goals of this run; undefined if there are none. */
export function goalsTable(): string | undefined {
  return rows.length === 0 ? undefined : tableOf(['goal of', 'measured', 'goal', ''], rows);
}

/** Prints measured numbers, some with a goal, and counts the missed goals. */
export class Goals {
  missed = 0;

  title(text: string): void {
    process.stdout.write(`\n${text}\n`);
  }

  /** Prints a number without a goal. */
  note(what: string, value: string): void {
    process.stdout.write(`${row(what, value)}\n`);
  }

  atMost(what: string, value: number, goal: number, unit = ''): void {
    this.#goal(what, value, goal, unit, 'at most');
  }

  atLeast(what: string, value: number, goal: number, unit = ''): void {
    this.#goal(what, value, goal, unit, 'at least');
  }

  #goal(what: string, value: number, goal: number, unit: string, bound: Bound): void {
    const isMet = noteGoal(what, value, goal, unit, bound);
    if (!isMet) this.missed++;
    const line = row(what, `${round(value)}${unit}`);
    process.stdout.write(`${line}   goal: ${bound} ${goal}${unit}${isMet ? '' : '   MISSED'}\n`);
  }
}

const row = (what: string, value: string) => `  ${what.padEnd(58)} ${value.padStart(12)}`;

/** Rounds to a useful precision. */
export const round = (value: number): string => (Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(2));
