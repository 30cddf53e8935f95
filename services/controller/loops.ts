import { delay } from '@webcapture/shared/runtime/deadline.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';

export interface RepeatOptions {
  /** What is done, for the log: "reading the state of the service". */
  readonly what: string;
  /** From one start to the next; when the work took longer, the next one follows after a breath. */
  readonly everyMs: number | (() => number);
  readonly signal: AbortSignal;
  readonly log: Logger;
}

/**
 * Does the work again and again, one at a time, until the signal aborts. Never throws: a failure is logged, once until
 * the work succeeds again, and the next turn tries anew.
 */
export async function repeat(options: RepeatOptions, work: () => Promise<unknown>): Promise<void> {
  const { what, everyMs, signal, log } = options;
  let failing = false;
  while (!signal.aborted) {
    const started = performance.now();
    try {
      await work();
      if (failing) log.info(`${what} succeeded again`);
      failing = false;
    } catch (error) {
      if (!failing && !signal.aborted) log.warn({ err: error }, `${what} failed; retrying`);
      failing = true;
    }
    const interval = typeof everyMs === 'number' ? everyMs : everyMs();
    await delay(Math.max(Math.min(interval, 50), interval - (performance.now() - started)), signal);
  }
}

/** Does the work for each item, so many at a time, in order of their begin. The work sees to its own failures. */
export async function eachOf<T>(
  items: readonly T[],
  parallel: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const rest = items.values();
  const serve = async () => {
    // All take from the same iterator.
    for (const item of rest) await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(parallel, items.length) }, serve));
}
