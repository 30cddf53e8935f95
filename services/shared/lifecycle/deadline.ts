/** An await took longer than it may. */
export class DeadlineError extends Error {
  constructor(what: string, ms: number) {
    super(`${what} took longer than ${Math.round(ms)} ms`);
    this.name = 'DeadlineError';
  }
}

/**
 * The promise's result, or a {@link DeadlineError} after `ms`. The work itself goes on: the caller ends it (closes the
 * page, destroys the socket) when it can be ended. A late rejection is swallowed.
 */
export function withDeadline<T>(promise: Promise<T>, ms: number, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new DeadlineError(what, ms)), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/**
 * When a deadline by another clock is there by the clock of this process, both in Unix milliseconds.
 *
 * @param now by that other clock
 */
export const localDeadline = (deadline: number, now: number): number => Date.now() + (deadline - now);
