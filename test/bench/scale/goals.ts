import process from 'node:process';

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
    this.#goal(what, value, unit, `at most ${goal}`, value <= goal);
  }

  atLeast(what: string, value: number, goal: number, unit = ''): void {
    this.#goal(what, value, unit, `at least ${goal}`, value >= goal);
  }

  #goal(what: string, value: number, unit: string, goal: string, isMet: boolean): void {
    if (!isMet) this.missed++;
    process.stdout.write(`${row(what, `${round(value)}${unit}`)}   goal: ${goal}${unit}${isMet ? '' : '   MISSED'}\n`);
  }
}

const row = (what: string, value: string) => `  ${what.padEnd(58)} ${value.padStart(12)}`;

/** Rounds to a useful precision. */
export const round = (value: number): string => (Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(2));
