import { setTimeout as sleep } from 'node:timers/promises';

/** Real milliseconds, also in a test that fakes the clock. */
const now = performance.now.bind(performance);

/**
 * Asks `check` again and again until it answers with something other than undefined, null or false, and returns that.
 * When the time is up it throws an Error that says what was waited for, with the last error of `check` as its cause. Time is
 * up when a check that began after it brings nothing: one that began before may have been held up by a busy machine.
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
      throw new Error(`waited ${deadlineMs} ms in vain for ${what}`, cause === undefined ? {} : { cause });
    }
    await sleep(intervalMs);
  }
}
