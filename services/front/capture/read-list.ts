import { ServiceError } from '@webcapture/shared/errors/service-error.ts';
import { withDeadline } from '@webcapture/shared/lifecycle/deadline.ts';
import { isTransient } from '@webcapture/shared/nats/api-errors.ts';
import { retryWhileAway } from '@webcapture/shared/nats/retry.ts';
import type { CaptureList, CaptureListAsk, CaptureListPart } from '@webcapture/shared/state/capture-list.ts';

const readMs = 3000;

/**
 * One part of the list of an account's captures.
 *
 * @throws ServiceError INTERNAL_ERROR, within a few seconds, when the list cannot be read
 */
export async function readList(
  list: Pick<CaptureList, 'list'>,
  account: string,
  ask: CaptureListAsk,
): Promise<CaptureListPart> {
  const deadline = Date.now() + readMs;
  try {
    const reading = retryWhileAway(() => list.list(account, ask), { deadline });
    return await withDeadline(reading, readMs, 'listing captures');
  } catch (cause) {
    if (!isTransient(cause)) throw cause;
    throw new ServiceError(
      'INTERNAL_ERROR',
      'The captures cannot be listed right now. Send the request again in a few seconds.',
      { cause },
    );
  }
}
