import type { Isolation } from '@webcapture/shared/api/account.ts';
import type { CacheKey, CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import { deadlineOf } from '@webcapture/shared/captures/times.ts';
import { timeOfUuid } from '@webcapture/shared/captures/uuid.ts';
import { newFileName } from '@webcapture/shared/files/file-name.ts';
import { isStreamFull, isTransient } from '@webcapture/shared/nats/api-errors.ts';
import type { UnsignedJob } from '@webcapture/shared/queue/job.ts';
import type { Jobs, QueuedJob } from '@webcapture/shared/queue/jobs.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { Region } from '@webcapture/shared/runtime/regions.ts';
import type { AcceptedRequest } from './accept-request.ts';

/** A capture as it is accepted: at the time in its uuid, which names the day that its record lies under. */
export interface Acceptance {
  /** A UUIDv7. */
  readonly uuid: string;
  readonly account: string;
  readonly region: Region;
  /** That of its account. */
  readonly isolation: Isolation | undefined;
  /** How long it may wait for a renderer. */
  readonly waitMs: number;
  /** Under which it answers for equal requests. */
  readonly cacheKey?: CacheKey | undefined;
}

/** The record of a capture that is about to be queued; its job is made of it. */
export function buildRecord(request: AcceptedRequest, acceptance: Acceptance): CaptureRecord {
  const { uuid, account, region, isolation, waitMs, cacheKey } = acceptance;
  const { source, options, lifetimeMs, persistence, webhookUrl } = request;
  const acceptedAt = timeOfUuid(uuid) ?? 0;
  const startBy = acceptedAt + waitMs;
  return {
    uuid,
    account,
    status: 'queued',
    lane: request.priority,
    url: source.kind === 'url' ? source.url : 'about:blank',
    ...(keepsHtml(request) ? { html: uuid } : {}),
    options,
    tokenCost: request.tokenCost,
    fileName: newFileName(uuid, options.format),
    askedRegion: request.region,
    region,
    acceptedAt,
    startBy,
    deadline: deadlineOf(options, startBy),
    lifetimeMs,
    expiresAt: acceptedAt + lifetimeMs,
    ...(isolation === undefined ? {} : { isolation }),
    ...(cacheKey === undefined ? {} : { cache: cacheKey }),
    ...(persistence === undefined ? {} : { persistence }),
    ...(webhookUrl === undefined ? {} : { webhook: { url: webhookUrl, state: 'waiting', attempts: 0 } }),
  };
}

/** Html that is rendered later, or again, is kept beside the record; else it goes along with the job. */
function keepsHtml({ source, priority, persistence }: AcceptedRequest): boolean {
  return source.kind === 'html' && (priority === 'background' || persistence !== undefined);
}

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
    throw new ServiceError('QUEUE_FULL', 'The queue of captures is full. Try again later.', { cause: error });
  }
}

/** What a client is told when the queue, or what is written beside it, cannot be reached. */
export function orUnavailable(cause: unknown): unknown {
  if (!isTransient(cause)) return cause;
  return new ServiceError(
    'INTERNAL_ERROR',
    'The queue cannot be reached right now. Send the request again in a few seconds.',
    { cause },
  );
}

/** Supplied html that does not go along with its job: it is too large, or kept to be rendered later or again. */
export interface HtmlStore {
  /** For renderers of that region. `expiresAt` in Unix milliseconds. */
  put(parcel: { readonly region: Region; readonly name: string }, html: string, expiresAt: number): Promise<void>;
  remove(name: string): Promise<void>;
}
