import { setTimeout as sleep } from 'node:timers/promises';

export interface WaitOptions {
  readonly deadlineMs: number;
  readonly intervalMs?: number;
  readonly signal?: AbortSignal;
}

/**
 * Asks `check` again and again until it answers with a value; undefined means not yet.
 * Throws what `check` throws, the signal's reason, or an Error that says what was waited for when the time is up.
 */
export async function waitFor<T>(what: string, check: () => Promise<T | undefined>, options: WaitOptions): Promise<T> {
  const { deadlineMs, intervalMs = 50, signal } = options;
  const end = performance.now() + deadlineMs;
  for (;;) {
    signal?.throwIfAborted();
    const value = await check();
    if (value !== undefined) return value;
    if (performance.now() >= end) throw new Error(`waited ${Math.round(deadlineMs / 1000)} s in vain for ${what}`);
    await sleep(intervalMs);
  }
}
