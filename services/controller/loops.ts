import { delay } from '@webcapture/shared/runtime/deadline.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';

/** The result of work that had nothing to do or could not start. It counts neither as a success nor as a failure. */
export const skipped = Symbol('skipped');

/**
 * Repeats the work sequentially until the signal aborts. Never throws: the next iteration retries. Of consecutive failures, only the first
 * is logged. Work that was {@link skipped} is not a success.
 *
 * @param options.what name of the work for the log, such as "reading the state of the service"
 * @param options.everyMs interval from start to start, by the number of consecutive failures; if the work takes longer, the next iteration
 * follows almost immediately
 */
export async function repeat(
  options: {
    readonly what: string;
    readonly everyMs: number | ((failures: number) => number);
    readonly signal: AbortSignal;
    readonly log: Logger;
  },
  work: () => Promise<unknown>,
): Promise<void> {
  const { what, everyMs, signal, log } = options;
  let failures = 0;
  while (!signal.aborted) {
    const started = performance.now();
    try {
      const result = await work();
      if (result !== skipped) {
        if (failures > 0) log.info(`${what} succeeded again`);
        failures = 0;
      }
    } catch (error) {
      if (failures === 0 && !signal.aborted) log.warn({ err: error }, `${what} failed; retrying`);
      failures++;
    }
    const interval = typeof everyMs === 'number' ? everyMs : everyMs(failures);
    await delay(Math.max(Math.min(interval, 50), interval - (performance.now() - started)), signal);
  }
}

/** Runs the work for each item in order, at most `parallel` of them concurrently. The work must handle its own failures. */
export async function eachOf<T>(
  items: readonly T[],
  parallel: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const rest = items.values();
  const serve = async () => {
    // All workers take from the same iterator.
    for (const item of rest) await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(parallel, items.length) }, serve));
}

/** A timer that can be woken early. */
export class WakeableTimer {
  #woken = new AbortController();

  /** Ends the current wait, or the next one. */
  wake(): void {
    this.#woken.abort();
  }

  /** Resolves after `ms`, when woken, or when the signal aborts. */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    await delay(ms, AbortSignal.any([signal, this.#woken.signal]));
    if (this.#woken.signal.aborted) this.#woken = new AbortController();
  }
}
