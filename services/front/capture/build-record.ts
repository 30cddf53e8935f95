import type { CachePlace } from '@webcapture/shared/contract/capture-job.ts';
import type { CaptureRecord } from '@webcapture/shared/contract/capture-record.ts';
import type { Region } from '@webcapture/shared/contract/regions.ts';
import type { RenderOptions } from '@webcapture/shared/contract/render-options.ts';
import type { AcceptedRequest } from './accept-request.ts';

/** Beyond the waits that the request allows: shooting a long page, storing it, and a second try after a death. */
const marginMs = 60_000;

/** A capture as it is accepted. `acceptedAt` is the time in its uuid, which names the day that its record lies under. */
export interface Acceptance {
  readonly uuid: string;
  readonly acceptedAt: number;
  readonly account: string;
  readonly region: Region;
  readonly fileName: string;
  readonly queueTimeoutMs: number;
  /** Where it answers for equal requests. */
  readonly cache?: CachePlace | undefined;
}

/** When a capture that may be begun until `startBy` must have ended; Unix milliseconds. */
export function deadlineOf(options: RenderOptions, startBy: number): number {
  return startBy + options.timeout + options.imageTimeout + options.delay + marginMs;
}

/** The record of a capture that a client waits for; its job is made of it. */
export function buildRecord(request: AcceptedRequest, acceptance: Acceptance): CaptureRecord {
  const { uuid, account, region, fileName, acceptedAt, queueTimeoutMs, cache } = acceptance;
  const { options, lifetimeMs } = request;
  const startBy = acceptedAt + queueTimeoutMs;
  return {
    uuid,
    account,
    status: 'queued',
    lane: 'interactive',
    url: request.source.kind === 'url' ? request.source.url : 'about:blank',
    options,
    tokenCost: request.tokenCost,
    fileName,
    askedRegion: request.region,
    region,
    acceptedAt,
    startBy,
    deadline: deadlineOf(options, startBy),
    lifetimeMs,
    expiresAt: acceptedAt + lifetimeMs,
    ...(cache === undefined ? {} : { cache }),
  };
}
