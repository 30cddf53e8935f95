import { backoffMs, DeadlineError, delay, withDeadline } from '../runtime/deadline.ts';
import { isTransient, isWriteConflict } from './api-errors.ts';

/** Limits of a call with all its attempts. */
export interface RetryLimits {
  /** Unix milliseconds by `now`. */
  readonly deadline: number;
  /** Prevents further attempts when it aborts. */
  readonly signal?: AbortSignal;
  /** Time limit of one attempt. The remaining time limits it as well. */
  readonly attemptTimeoutMs?: number;
  /** Whether the call may succeed later although the error is not transient. Default: never. */
  readonly mayPass?: (error: unknown) => boolean;
  /** The clock of the deadline. Default: the local clock. Use the server's clock for a deadline that another process has set. */
  readonly now?: () => number;
}

/** Limits with a default deadline. */
export type CallLimits = Partial<RetryLimits>;

/** Default timeout of an attempt. A restarted server does not answer earlier requests, so retrying is faster than waiting. */
const defaultAttemptTimeoutMs = 3000;

/** Default timeout of a write. */
const defaultCallTimeoutMs = 10_000;

/** Minimum time for an attempt, so that a request is sent. */
const minAttemptMs = 5;

const transientDelay = (attempt: number) => backoffMs(attempt, 50, 1000);

/** The delay can be short, because one of several concurrent writers succeeds in each attempt. */
const conflictDelay = (attempt: number) => Math.random() * Math.min(attempt * 4, 200);

/**
 * Retries a call after transient errors until it succeeds, the deadline passes or the signal aborts; then throws the last error. An attempt
 * that exceeds its time is abandoned. No attempt starts after the deadline, or continues beyond it. Only for calls that are safe to repeat:
 * reads, compare-and-sets that read again, publishes with a message id.
 *
 * @throws DeadlineError if the deadline had passed before the first attempt
 */
export function retryTransient<T>(call: (timeoutMs: number) => Promise<T>, limits: RetryLimits): Promise<T> {
  const { mayPass = () => false } = limits;
  return attempts(call, limits, (error, attempt) =>
    isTransient(error) || mayPass(error) ? transientDelay(attempt) : null,
  );
}

/**
 * Repeats a compare-and-set (read, decide, write) while another client writes first or the call fails with a transient error. `call` must
 * read each time, to find what an attempt with a lost answer wrote. Default time limit: ten seconds.
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

/** @param delayAfter returns the delay after an error; null if a retry cannot help */
async function attempts<T>(
  call: (timeoutMs: number) => Promise<T>,
  { deadline, signal, attemptTimeoutMs = defaultAttemptTimeoutMs, now = Date.now }: RetryLimits,
  delayAfter: (error: unknown, attempt: number) => number | null,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const timeoutMs = Math.min(attemptTimeoutMs, deadline - now());
    if (timeoutMs <= 0) throw new DeadlineError('a NATS request', 0);
    try {
      return await withDeadline(call(timeoutMs), timeoutMs, 'a call of NATS');
    } catch (error) {
      const waitMs = delayAfter(error, attempt);
      if (waitMs === null || signal?.aborted === true || deadline - now() < waitMs + minAttemptMs) throw error;
      if (!(await delay(waitMs, signal))) throw error;
    }
  }
}
