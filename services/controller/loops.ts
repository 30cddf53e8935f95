import { delay } from '@webcapture/shared/runtime/deadline.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';

/** Returned by work that had nothing to do or could not begin: neither a success nor a failure. */
export const skipped = Symbol('skipped');

/**
 * Does the work again and again, one at a time, until the signal aborts. Never throws: a failure is logged, once until
 * the work succeeds again, and the next turn tries anew. Work that was {@link skipped} is no success.
 *
 * @param options.what is done, for the log: "reading the state of the service"
 * @param options.everyMs from one start to the next, by how often the work has failed in a row; when the work took longer, the
 * next one follows after a breath
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

/** Does the work for each item, up to `parallel` at a time, begun in their order. The work handles its own failures. */
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

/** A wait that others may end before its time. */
export class Wake {
  #woken = new AbortController();

  /** Ends the wait that is under way, or the next one. */
  wake(): void {
    this.#woken.abort();
  }

  /** Returns after `ms`, when woken, or when the signal aborts. */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    await delay(ms, AbortSignal.any([signal, this.#woken.signal]));
    if (this.#woken.signal.aborted) this.#woken = new AbortController();
  }
}
