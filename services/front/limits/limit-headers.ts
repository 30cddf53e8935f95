import type { AccountLimits, AdmissionVerdict } from '@webcapture/shared/state/admission.ts';
import { placeSeconds, queueWaitSeconds } from './queue-wait.ts';

/**
 * How an account stands with its rate limit, and when to try again; all times in whole seconds, rounded up.
 *
 * @param waitSeconds how long a background capture waits now; null when nobody can tell
 */
export function limitHeaders(
  limits: AccountLimits,
  verdict: AdmissionVerdict,
  waitSeconds: number | null = null,
): Record<string, string> {
  const retryAfter = retryAfterSeconds(verdict, waitSeconds);
  return {
    'x-ratelimit-limit': String(limits.ratePerMinute),
    'x-ratelimit-remaining': String(verdict.remaining),
    'x-ratelimit-reset': String(Math.ceil(verdict.resetMs / 1000)),
    ...(retryAfter === null ? {} : { 'retry-after': String(retryAfter) }),
  };
}

/** At least one: a client that waits for 0 seconds does not wait. Null: waiting does not help. */
function retryAfterSeconds({ refused, retryAfterMs }: AdmissionVerdict, waitSeconds: number | null): number | null {
  switch (refused) {
    case null:
    case 'quota':
      return null;
    case 'rate':
      return Math.max(1, Math.ceil(retryAfterMs / 1000));
    case 'in-flight':
      return placeSeconds;
    case 'queued':
      return queueWaitSeconds(waitSeconds);
  }
}
