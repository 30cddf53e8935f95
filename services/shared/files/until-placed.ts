import { backoffMs, delay } from '../runtime/deadline.ts';

/** Maximum number of attempts to place a file. An attempt fails if another process replaces or removes the file at the same time. */
const maxAttempts = 5;

/**
 * Makes attempts to place a file until one succeeds. An attempt resolves to null if another process was faster.
 *
 * @param isLate whether the deadline has passed
 * @throws Error if other processes are faster each time
 */
export async function untilPlaced<T>(
  attempt: () => Promise<T | null>,
  isLate: () => boolean,
  signal?: AbortSignal,
): Promise<T> {
  for (let count = 1; ; count++) {
    const placed = await attempt();
    if (placed !== null) return placed;
    if (count === maxAttempts || isLate()) throw new Error('other processes wrote and removed the file repeatedly');
    // Another write may be in progress, which the next read does not show yet.
    await delay(backoffMs(count, 50, 1000), signal);
  }
}
