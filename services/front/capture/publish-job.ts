import { ServiceError } from '@webcapture/shared/errors/service-error.ts';
import { isStreamFull, isTransient } from '@webcapture/shared/nats/api-errors.ts';
import type { UnsignedJob } from '@webcapture/shared/state/job-of.ts';
import type { Jobs, QueuedJob } from '@webcapture/shared/state/jobs.ts';

/**
 * How long each step of accepting a capture may take while the server is away: a restart is ridden out, with the time-out
 * of a call that was under way.
 */
export const acceptMs = 8000;

/**
 * Puts a job into the queue, trying until `deadline` (Unix ms, by the server's clock). One that failed may lie there all
 * the same.
 *
 * @throws ServiceError QUEUE_FULL; INTERNAL_ERROR when the queue cannot be reached
 */
export async function publishJob(jobs: Pick<Jobs, 'publish'>, job: UnsignedJob, deadline: number): Promise<QueuedJob> {
  try {
    return await jobs.publish(job, { deadline });
  } catch (error) {
    if (!isStreamFull(error)) throw queueAway(error);
    throw new ServiceError('QUEUE_FULL', 'The queue of captures is full. Try again later.', { cause: error });
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
