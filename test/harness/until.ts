import { setTimeout as sleep } from 'node:timers/promises';

/** Returns real milliseconds, even in a test with fake timers. */
const now = performance.now.bind(performance);

/**
 * Calls `check` repeatedly until it returns something other than undefined, null or false, and returns that. At the deadline, throws an
 * Error that names `what`; its cause is the last error of `check`. Before it throws, at least one check starts after the deadline, because
 * a busy machine may have delayed the earlier ones.
 */
export async function until<T>(
  what: string,
  check: () => Promise<T> | T,
  options: { deadlineMs?: number; intervalMs?: number } = {},
): Promise<NonNullable<Exclude<T, false>>> {
  const { deadlineMs = 150_000, intervalMs = 25 } = options;
  const end = now() + deadlineMs;
  let cause: unknown;
  for (;;) {
    const isLast = now() >= end;
    try {
      const value = await check();
      if (value !== undefined && value !== null && value !== false) return value as NonNullable<Exclude<T, false>>;
      cause = undefined;
    } catch (error) {
      cause = error;
    }
    if (isLast) {
      throw new Error(`timed out after ${deadlineMs} ms waiting for ${what}`, cause === undefined ? {} : { cause });
    }
    await sleep(intervalMs);
  }
}
