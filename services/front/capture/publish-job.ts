import { isStreamFull, isTransient } from '@webcapture/shared/nats/api-errors.ts';
import type { UnsignedJob } from '@webcapture/shared/queue/job.ts';
import type { Jobs, QueuedJob } from '@webcapture/shared/queue/jobs.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import type { Region } from '@webcapture/shared/runtime/regions.ts';
import { natsUnavailable } from '../nats.ts';
import type { AcceptedRequest } from './accept-request.ts';

/**
 * Timeout of each step of accepting a capture while the server is unavailable. It covers a restart of the server and the
 * timeout of a pending call.
 */
export const acceptTimeoutMs = 8000;

/**
 * Queues a job, with retries until `deadline` (Unix milliseconds by the server's clock). If it throws, the job may be in
 * the queue nevertheless.
 *
 * @throws ServiceError QUEUE_FULL; INTERNAL_ERROR if the queue cannot be reached
 */
export async function publishJob(jobs: Jobs, job: UnsignedJob, deadline: number): Promise<QueuedJob> {
  try {
    return await jobs.publish(job, { deadline });
  } catch (error) {
    if (!isStreamFull(error)) throw orUnavailable(error);
    throw new ServiceError('QUEUE_FULL', 'The queue of captures is full. Try again later.', {
      causedBy: 'service',
      cause: error,
    });
  }
}

/** Returns the error for clients if the queue, or the records that belong to it, cannot be reached. */
export function orUnavailable(cause: unknown): unknown {
  return isTransient(cause) ? natsUnavailable('The queue cannot be reached right now.', cause) : cause;
}

/** Stores supplied HTML that is not a part of the job because it is too large, or is rendered later or again. */
export interface HtmlStore {
  /** Stores HTML for the renderers of a region. `expiresAt` in Unix milliseconds. */
  put(target: { readonly region: Region; readonly name: string }, html: string, expiresAt: number): Promise<void>;
  remove(name: string): Promise<void>;
}

/** Stores the HTML of a request until it is rendered; with persistence, until the file expires, for refreshes. */
export async function putHtml(
  htmlStore: Pick<HtmlStore, 'put'>,
  name: string,
  { source }: AcceptedRequest,
  { region, persistence, deadline, expiresAt }: CaptureRecord,
): Promise<void> {
  if (source.kind !== 'html') return;
  await htmlStore.put({ region, name }, source.html, persistence === undefined ? deadline : expiresAt);
}
