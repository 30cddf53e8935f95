import { ServiceError } from '@webcapture/shared/errors/service-error.ts';
import { withDeadline } from '@webcapture/shared/lifecycle/deadline.ts';
import { isTransient, isWriteConflict } from '@webcapture/shared/nats/api-errors.ts';
import { retryTransient } from '@webcapture/shared/nats/retry.ts';

/**
 * Makes a call of the kind that may be repeated, again and again while NATS is away, for at most `ms` milliseconds.
 *
 * @param refusal what the client is told when it does not work: "The capture cannot be changed right now."
 * @throws ServiceError INTERNAL_ERROR with that; and whatever else the call throws
 */
export async function reach<T>(call: () => Promise<T>, ms: number, refusal: string): Promise<T> {
  try {
    return await withDeadline(retryTransient(call, { deadline: Date.now() + ms }), ms, 'asking NATS');
  } catch (cause) {
    if (!isTransient(cause) && !isWriteConflict(cause)) throw cause;
    throw new ServiceError('INTERNAL_ERROR', `${refusal} Send the request again in a few seconds.`, { cause });
  }
}
