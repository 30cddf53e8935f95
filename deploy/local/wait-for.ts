import { setTimeout as sleep } from 'node:timers/promises';

export interface WaitOptions {
  readonly deadlineMs: number;
  readonly intervalMs?: number;
  readonly signal?: AbortSignal;
}

/**
 * Calls `check` repeatedly until it returns a value; undefined means that the condition is not met yet. Throws the error of `check`, or the
 * signal's reason. After the timeout, throws an Error that names the condition.
 */
export async function waitFor<T>(what: string, check: () => Promise<T | undefined>, options: WaitOptions): Promise<T> {
  const { deadlineMs, intervalMs = 50, signal } = options;
  const end = performance.now() + deadlineMs;
  for (;;) {
    signal?.throwIfAborted();
    const value = await check();
    if (value !== undefined) return value;
    if (performance.now() >= end)
      throw new Error(`waited ${Math.round(deadlineMs / 1000)} s for ${what}, which did not happen`);
    await sleep(intervalMs);
  }
}
