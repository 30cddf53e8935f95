import type { CachePlace } from '@webcapture/shared/contract/capture-job.ts';
import type { CaptureRecord } from '@webcapture/shared/contract/capture-record.ts';
import type { Isolation } from '@webcapture/shared/contract/isolation.ts';
import type { Region } from '@webcapture/shared/contract/regions.ts';
import { deadlineOf } from '@webcapture/shared/state/capture-times.ts';
import { timeOfUuid } from '@webcapture/shared/state/uuid.ts';
import { newFileName } from '@webcapture/shared/storage/file-name.ts';
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
  /** Where it answers for equal requests. */
  readonly cache?: CachePlace | undefined;
}

/** The record of a capture that is about to be queued; its job is made of it. */
export function buildRecord(request: AcceptedRequest, acceptance: Acceptance): CaptureRecord {
  const { uuid, account, region, isolation, waitMs, cache } = acceptance;
  const { source, options, lifetimeMs, persistence, webhookUrl } = request;
  const acceptedAt = timeOfUuid(uuid) ?? 0;
  const startBy = acceptedAt + waitMs;
  return {
    uuid,
    account,
    status: 'queued',
    lane: request.lane,
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
    ...(cache === undefined ? {} : { cache }),
    ...(persistence === undefined ? {} : { persistence }),
    ...(webhookUrl === undefined ? {} : { webhook: { url: webhookUrl, state: 'waiting', attempts: 0 } }),
  };
}

/** Html that is rendered later, or again, is kept beside the record; else it goes along with the job. */
function keepsHtml({ source, lane, persistence }: AcceptedRequest): boolean {
  return source.kind === 'html' && (lane === 'background' || persistence !== undefined);
}
