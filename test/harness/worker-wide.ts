import { once } from './once.ts';

/** What a worker has to end, the oldest first. The environment of the tests is loaded apart from them, so it is global. */
const ends: (() => Promise<unknown>)[] = ((globalThis as Record<symbol, unknown>)[
  Symbol.for('webcapture.ends-of-worker')
] ??= []) as (() => Promise<unknown>)[];

/**
 * What all files that one worker runs share: it is made for the first that asks, and ended with the worker. Files run
 * one after another in a worker, so nobody else uses it meanwhile; what a file leaves behind in it, the next one finds.
 */
export function workerWide<T>(make: () => Promise<T>, end: (made: T) => Promise<unknown>): () => Promise<T> {
  return once(async () => {
    const made = await make();
    ends.push(() => end(made));
    return made;
  });
}

/** Ends all that is shared, the newest first: all of it, also where an end fails. Throws what the first one threw. */
export async function endWorkerWide(): Promise<void> {
  const failures: unknown[] = [];
  for (const end of ends.splice(0).toReversed()) {
    try {
      await end();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}
