import type { CaptureJob } from '@webcapture/shared/contract/capture-job.ts';
import { ServiceError } from '@webcapture/shared/errors/service-error.ts';
import { isStreamFull, isTransient } from '@webcapture/shared/nats/api-errors.ts';
import { retryWhileAway } from '@webcapture/shared/nats/retry.ts';
import type { Jobs, QueuedJob } from '@webcapture/shared/state/jobs.ts';

/**
 * How long each step of accepting a capture may take while the server is away: a restart is ridden out, with the time-out
 * of a call that was under way.
 */
export const acceptMs = 8000;

/**
 * Puts a job into the queue, trying until `deadline` (Unix ms). One that failed may lie there all the same.
 *
 * @throws ServiceError QUEUE_FULL; INTERNAL_ERROR when the queue cannot be reached
 */
export async function publishJob(jobs: Pick<Jobs, 'publish'>, job: CaptureJob, deadline: number): Promise<QueuedJob> {
  const publish = async () => {
    try {
      return await jobs.publish(job);
    } catch (error) {
      // The server's error looks as if it were away; but a full queue is refused at once, not asked again and again.
      if (!isStreamFull(error)) throw error;
      throw new ServiceError('QUEUE_FULL', 'The queue of captures is full. Try again later.', { cause: error });
    }
  };
  try {
    return await retryWhileAway(publish, { deadline });
  } catch (error) {
    throw queueAway(error);
  }
}

/** What a client is told when the queue, or what is written beside it, cannot be reached. */
export function queueAway(cause: unknown): unknown {
  if (!isTransient(cause)) return cause;
  return new ServiceError(
    'INTERNAL_ERROR',
    'The queue cannot be reached right now. Send the request again in a few seconds.',
    { cause },
  );
}
