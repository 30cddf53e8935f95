import { setTimeout as sleep } from 'node:timers/promises';

/** Thrown when an await times out. */
export class DeadlineError extends Error {
  constructor(what: string, ms: number) {
    super(`${what} timed out after ${Math.round(ms)} ms`);
    this.name = 'DeadlineError';
  }
}

/**
 * Returns the promise's result, or throws a {@link DeadlineError} after `ms`. The work itself continues; the caller ends it if possible
 * (closes the page, destroys the socket). A late rejection is ignored.
 */
export function withDeadline<T>(promise: Promise<T>, ms: number, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new DeadlineError(what, ms)), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/**
 * Converts a deadline to the clock of this process. Both are in Unix milliseconds.
 *
 * @param now the time by the clock of the deadline
 */
export const localDeadline = (deadline: number, now: number): number => Date.now() + (deadline - now);

/** Waits for `ms` and returns true. Returns false before that if the signal aborts. */
export async function delay(ms: number, signal?: AbortSignal): Promise<boolean> {
  try {
    await sleep(ms, undefined, signal === undefined ? {} : { signal });
    return true;
  } catch {
    return false;
  }
}

/**
 * Returns the delay in milliseconds before attempt `n` (1, 2, 3…). The delay doubles from `baseMs` up to `maxMs`. A quarter of it is
 * random.
 */
export function backoffMs(attempt: number, baseMs: number, maxMs: number, random: () => number = Math.random): number {
  const full = Math.min(maxMs, baseMs * 2 ** (attempt - 1));
  return Math.round(full * (0.75 + 0.25 * random()));
}

/**
 * Calls `act` when the signal aborts, or immediately if it has aborted already. Returns a function that cancels this.
 */
export function onAbort(signal: AbortSignal, act: () => void): () => void {
  if (signal.aborted) act();
  else signal.addEventListener('abort', act, { once: true });
  return () => signal.removeEventListener('abort', act);
}

/**
 * Returns the promise's result, or throws the signal's reason when it aborts. The work itself continues; a late
 * rejection is ignored.
 */
export async function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const stopListening = onAbort(signal, () => aborted.reject(signal.reason as Error));
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    stopListening();
  }
}

/**
 * Runs a task that may hang. Its signal aborts after `ms`, or with the caller's signal. The promise then rejects with the reason, even if
 * the task ignores the signal.
 */
export async function withTimeout<T>(
  task: (signal: AbortSignal) => Promise<T>,
  ms: number,
  signal?: AbortSignal,
): Promise<T> {
  const timeUp = AbortSignal.timeout(ms);
  const end = signal === undefined ? timeUp : AbortSignal.any([timeUp, signal]);
  end.throwIfAborted();
  return untilAborted(task(end), end);
}
