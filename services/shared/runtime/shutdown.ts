import type { Logger } from './logger.ts';
import { withDeadline } from './deadline.ts';

interface Step {
  readonly name: string;
  readonly stop: () => Promise<unknown> | void;
}

/** Runs the steps of the shutdown in reverse order of the start, within one time limit. */
export class Shutdown {
  readonly #steps: Step[] = [];
  readonly #aborter = new AbortController();
  readonly #log: Logger;
  readonly #limitMs: number;

  constructor(log: Logger, limitMs: number) {
    this.#log = log;
    this.#limitMs = limitMs;
  }

  /** Aborts when the shutdown begins. Loops and waits end then. */
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

/** Time within which several signals count as one Ctrl-C. The terminal and each parent process may send one. */
const sameKeystrokeMs = 400;

/**
 * Handles stop signals. The first signal stops the process in order. Repetitions of the same Ctrl-C are ignored. Any other signal stops it
 * immediately.
 */
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
