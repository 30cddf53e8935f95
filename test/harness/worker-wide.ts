import { once } from './once.ts';

/**
 * Resources that a worker must dispose of, the oldest first. The list is global, because the environment of the tests loads modules
 * separately.
 */
const ends: (() => Promise<unknown>)[] = ((globalThis as Record<symbol, unknown>)[
  Symbol.for('webcapture.ends-of-worker')
] ??= []) as (() => Promise<unknown>)[];

/**
 * A resource that all files of one worker share. It is created at its first use, and disposed of with the worker. The files of a worker run
 * one by one, so there is no concurrent use, but a file finds the state that earlier files have left.
 */
export function workerWide<T>(make: () => Promise<T>, end: (made: T) => Promise<unknown>): () => Promise<T> {
  return once(async () => {
    const made = await make();
    ends.push(() => end(made));
    return made;
  });
}

/** Disposes of all shared resources, the newest first, even if one fails. Throws the first error. */
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
