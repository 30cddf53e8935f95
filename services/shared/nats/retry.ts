import { backoffMs, DeadlineError, delay, withDeadline } from '../runtime/deadline.ts';
import { isTransient, isWriteConflict } from './api-errors.ts';

/** Until when a call may be made, with all its attempts. */
export interface RetryLimits {
  /** Unix milliseconds, by `now`. */
  readonly deadline: number;
  /** Ends it before the next attempt. */
  readonly signal?: AbortSignal;
  /** Time limit of one attempt, within the remaining time. */
  readonly attemptTimeoutMs?: number;
  /** Whether the call may succeed later although the error is not transient; default: never. */
  readonly mayPass?: (error: unknown) => boolean;
  /** By default the local clock; that of the session when the deadline came from another process. */
  readonly now?: () => number;
}

/** The limits that a caller may give; with a default deadline. */
export type CallLimits = Partial<RetryLimits>;

/** A server that restarts does not answer what it was asked before: asking again is quicker than waiting. */
const defaultAttemptTimeoutMs = 3000;

/** How long a write may take when its caller does not say. */
const defaultCallTimeoutMs = 10_000;

/** Less than this is no time for a request. */
const minAttemptMs = 5;

const transientDelay = (attempt: number) => backoffMs(attempt, 50, 1000);

/** Of many who write at the same time one succeeds each time, so the others need not wait for long. */
const conflictDelay = (attempt: number) => Math.random() * Math.min(attempt * 4, 200);

/**
 * Makes a call again when it fails with a transient error, until the deadline or the signal ends it; then throws the last error.
 * Each attempt is handed the time that is left for it, and is given up when that is over: no attempt outlives the deadline, and none
 * begins after it. For calls that are safe to repeat: reads, compare-and-sets that are read anew, publishes with a message id.
 *
 * @throws DeadlineError when the deadline had passed before the first attempt
 */
export function retryTransient<T>(call: (timeoutMs: number) => Promise<T>, limits: RetryLimits): Promise<T> {
  const { mayPass = () => false } = limits;
  return attempts(call, limits, (error, attempt) =>
    isTransient(error) || mayPass(error) ? transientDelay(attempt) : null,
  );
}

/**
 * Repeats a compare-and-set (read, decide, write) while another client writes first or the call fails with a transient
 * error. `call` must read each time, so that it finds what an attempt with a lost answer wrote. Default time limit: ten
 * seconds.
 */
export function compareAndSet<T>(call: (timeoutMs: number) => Promise<T>, limits: CallLimits = {}): Promise<T> {
  return attempts(call, withDefaultDeadline(limits), (error, attempt) => {
    if (isWriteConflict(error)) return conflictDelay(attempt);
    return isTransient(error) ? transientDelay(attempt) : null;
  });
}

function withDefaultDeadline({
  now = Date.now,
  deadline = now() + defaultCallTimeoutMs,
  ...rest
}: CallLimits): RetryLimits {
  return { ...rest, now, deadline };
}

/** @param delayAfter how long to wait after an error; null when there is no sense in trying again */
async function attempts<T>(
  call: (timeoutMs: number) => Promise<T>,
  { deadline, signal, attemptTimeoutMs = defaultAttemptTimeoutMs, now = Date.now }: RetryLimits,
  delayAfter: (error: unknown, attempt: number) => number | null,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const timeoutMs = Math.min(attemptTimeoutMs, deadline - now());
    if (timeoutMs <= 0) throw new DeadlineError('a call of NATS', 0);
    try {
      return await withDeadline(call(timeoutMs), timeoutMs, 'a call of NATS');
    } catch (error) {
      const waitMs = delayAfter(error, attempt);
      if (waitMs === null || signal?.aborted === true || deadline - now() < waitMs + minAttemptMs) throw error;
      if (!(await delay(waitMs, signal))) throw error;
    }
  }
}
