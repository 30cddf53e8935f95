import type { Logger } from './logger.ts';
import { withDeadline } from './deadline.ts';

interface Step {
  readonly name: string;
  readonly stop: () => Promise<unknown> | void;
}

/** Steps of the shutdown, run in reverse order of the start within one time limit. */
export class Shutdown {
  readonly #steps: Step[] = [];
  readonly #aborter = new AbortController();
  readonly #log: Logger;
  readonly #limitMs: number;

  constructor(log: Logger, limitMs: number) {
    this.#log = log;
    this.#limitMs = limitMs;
  }

  /** Aborts when the shutdown begins, which ends loops and waits. */
  get signal(): AbortSignal {
    return this.#aborter.signal;
  }

  add(name: string, stop: Step['stop']): void {
    this.#steps.push({ name, stop });
  }

  /** Runs every step even if one fails. Returns false if one failed or the time ran out. */
  async run(): Promise<boolean> {
    this.#aborter.abort(new Error('the process is stopping'));
    const end = performance.now() + this.#limitMs;
    let clean = true;
    for (const { name, stop } of this.#steps.toReversed()) {
      try {
        await withDeadline(Promise.resolve(stop()), Math.max(1, end - performance.now()), `stopping ${name}`);
      } catch (error) {
        clean = false;
        this.#log.error({ err: error, step: name }, 'shutdown step failed');
      }
    }
    return clean;
  }
}

/** Time for which signals count as the same Ctrl-C, which the terminal and each parent process may send. */
const sameKeystrokeMs = 400;

/** Handles stop signals: the first one stops, repetitions of the same Ctrl-C are ignored, and any other signal stops immediately. */
export function onStopSignal<Why extends string>(
  onStop: (why: Why) => void,
  onStopAtOnce: () => void,
  now: () => number = () => performance.now(),
): (why: Why) => void {
  let first: number | undefined;
  return (why) => {
    if (first === undefined) {
      first = now();
      onStop(why);
    } else if (now() - first > sameKeystrokeMs) {
      onStopAtOnce();
    }
  };
}
