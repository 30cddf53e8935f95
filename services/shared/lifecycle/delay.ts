import { setTimeout as sleep } from 'node:timers/promises';

/** Waits; returns early, and false, when the signal aborts. */
export async function delay(ms: number, signal?: AbortSignal): Promise<boolean> {
  try {
    await sleep(ms, undefined, signal === undefined ? {} : { signal });
    return true;
  } catch {
    return false;
  }
}

/** Milliseconds to wait before attempt `n` (1, 2, 3…): doubling from `baseMs` up to `maxMs`, a quarter of it random. */
export function backoffMs(attempt: number, baseMs: number, maxMs: number, random: () => number = Math.random): number {
  const full = Math.min(maxMs, baseMs * 2 ** (attempt - 1));
  return Math.round(full * (0.75 + 0.25 * random()));
}
