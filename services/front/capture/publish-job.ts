import { isStreamFull, isTransient } from '@webcapture/shared/nats/api-errors.ts';
import type { UnsignedJob } from '@webcapture/shared/queue/job.ts';
import type { Jobs, QueuedJob } from '@webcapture/shared/queue/jobs.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import type { Region } from '@webcapture/shared/runtime/regions.ts';
import { natsUnavailable } from '../nats.ts';
import type { AcceptedRequest } from './accept-request.ts';

/**
 * How long each step of accepting a capture may take while the server is unavailable: a restart is ridden out, with the time-out
 * of a call that was under way.
 */
export const acceptTimeoutMs = 8000;

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
    if (!isStreamFull(error)) throw orUnavailable(error);
    throw new ServiceError('QUEUE_FULL', 'The queue of captures is full. Try again later.', {
      causedBy: 'service',
      cause: error,
    });
  }
}

/** What a client is told when the queue, or what is written beside it, cannot be reached. */
export function orUnavailable(cause: unknown): unknown {
  return isTransient(cause) ? natsUnavailable('The queue cannot be reached right now.', cause) : cause;
}

/** Supplied html that does not go along with its job: it is too large, or kept to be rendered later or again. */
export interface HtmlStore {
  /** For renderers of that region. `expiresAt` in Unix milliseconds. */
  put(target: { readonly region: Region; readonly name: string }, html: string, expiresAt: number): Promise<void>;
  remove(name: string): Promise<void>;
}

/** Stores the html of a request until it is rendered, or with persistence for as long as the file: to be rendered again. */
export async function putHtml(
  htmlStore: Pick<HtmlStore, 'put'>,
  name: string,
  { source }: AcceptedRequest,
  { region, persistence, deadline, expiresAt }: CaptureRecord,
): Promise<void> {
  if (source.kind !== 'html') return;
  await htmlStore.put({ region, name }, source.html, persistence === undefined ? deadline : expiresAt);
}
