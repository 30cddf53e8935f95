import type { AccountLimits, AdmissionVerdict } from '@webcapture/shared/state/admission.ts';

/** Seconds after which a request that found no place may find one: captures take about as long. */
const placeSeconds = 2;

/** How an account stands with its rate limit, and when to try again; all times in whole seconds, rounded up. */
export function limitHeaders(limits: AccountLimits, verdict: AdmissionVerdict): Record<string, string> {
  const { refused } = verdict;
  const retryAfter =
    refused === 'rate' ? seconds(verdict.retryAfterMs) : refused === null || refused === 'quota' ? null : placeSeconds;
  return {
    'x-ratelimit-limit': String(limits.ratePerMinute),
    'x-ratelimit-remaining': String(verdict.remaining),
    'x-ratelimit-reset': String(Math.ceil(verdict.resetMs / 1000)),
    ...(retryAfter === null ? {} : { 'retry-after': String(retryAfter) }),
  };
}

/** At least one: a client that waits for 0 seconds does not wait. */
const seconds = (ms: number) => Math.max(1, Math.ceil(ms / 1000));
