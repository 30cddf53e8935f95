import type { CaptureRecord } from '@webcapture/shared/contract/capture-record.ts';
import { ServiceError } from '@webcapture/shared/errors/service-error.ts';
import { withDeadline } from '@webcapture/shared/lifecycle/deadline.ts';
import { isTransient } from '@webcapture/shared/nats/api-errors.ts';
import { retryWhileAway } from '@webcapture/shared/nats/retry.ts';
import type { Captures } from '@webcapture/shared/state/captures.ts';
import type { Transition } from '@webcapture/shared/state/transitions.ts';

const changeMs = 3000;

/**
 * Changes the record of an account's capture; returns how it stands afterwards, changed or not.
 *
 * @throws ServiceError CAPTURE_NOT_FOUND, or INTERNAL_ERROR when the record cannot be reached
 */
export async function changeCapture(
  { captures }: { readonly captures: Pick<Captures, 'change'> },
  account: string,
  uuid: string,
  transition: Transition,
): Promise<CaptureRecord> {
  const deadline = Date.now() + changeMs;
  try {
    const changing = retryWhileAway(() => captures.change({ account, uuid }, transition), { deadline });
    const record = await withDeadline(changing, changeMs, 'changing a capture');
    if (record !== null) return record;
  } catch (cause) {
    if (!isTransient(cause)) throw cause;
    throw new ServiceError(
      'INTERNAL_ERROR',
      'The capture cannot be changed right now. Send the request again in a few seconds.',
      { cause },
    );
  }
  throw new ServiceError('CAPTURE_NOT_FOUND');
}
