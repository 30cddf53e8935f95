import { ServiceError } from '@webcapture/shared/errors/service-error.ts';
import type { AccountLimits, AdmissionVerdict } from '@webcapture/shared/state/admission.ts';
import { periodOf } from '@webcapture/shared/state/period.ts';

/** The error of a request that the limits of its account do not let through, or null. `now` in Unix milliseconds. */
export function refusalOf(
  { refused }: AdmissionVerdict,
  limits: AccountLimits,
  request: { readonly tokens: number; readonly now: number },
): ServiceError | null {
  switch (refused) {
    case null:
      return null;
    case 'rate':
      return new ServiceError(
        'RATE_LIMIT_EXCEEDED',
        `The account may send ${limits.ratePerMinute} captures a minute. Wait for the seconds that Retry-After tells.`,
      );
    case 'quota': {
      const next = new Date(periodOf(request.now).end).toISOString();
      return new ServiceError(
        'QUOTA_EXCEEDED',
        `This capture costs ${request.tokens} of the ${limits.tokenQuota} tokens of this month, and fewer are left, captures in flight counted. The next period begins at ${next}.`,
      );
    }
    case 'in-flight':
      return new ServiceError(
        'QUEUE_FULL',
        `The account may have ${limits.maxInFlight} captures under way at once. Send it again when one has ended.`,
      );
    case 'queued':
      return new ServiceError('QUEUE_FULL', `The account may have ${limits.maxQueued} background captures waiting.`);
  }
}
