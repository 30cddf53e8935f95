import { captureJobVersion, type CaptureJob, type CaptureSource } from '@webcapture/shared/contract/capture-job.ts';
import type { CaptureRecord } from '@webcapture/shared/contract/capture-record.ts';
import type { Region } from '@webcapture/shared/contract/regions.ts';
import type { RenderOptions } from '@webcapture/shared/contract/render-options.ts';
import type { CachePlace } from '@webcapture/shared/state/cache.ts';
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
  readonly resultSubject: string;
  /** Where it answers for equal requests. */
  readonly cache?: CachePlace | undefined;
}

/** When a capture that may be begun until `startBy` must have ended; Unix milliseconds. */
export function deadlineOf(options: RenderOptions, startBy: number): number {
  return startBy + options.timeout + options.imageTimeout + options.delay + marginMs;
}

/** The record and the job of a capture that a client waits for; times as in their types. */
export function buildJob(
  request: AcceptedRequest,
  acceptance: Acceptance,
  delivery: { readonly source: CaptureSource; readonly wantsBytes: boolean },
): { readonly record: CaptureRecord; readonly job: CaptureJob } {
  const { uuid, account, region, fileName, acceptedAt, cache } = acceptance;
  const { options } = request;
  const startBy = acceptedAt + acceptance.queueTimeoutMs;
  const deadline = deadlineOf(options, startBy);
  return {
    record: {
      uuid,
      account,
      status: 'queued',
      url: request.source.kind === 'url' ? request.source.url : 'about:blank',
      format: options.format,
      viewport: options.viewport,
      fullPage: options.isFullPage,
      tokenCost: request.tokenCost,
      fileName,
      region,
      acceptedAt,
      deadline,
      expiresAt: acceptedAt + request.lifetimeMs,
      ...(cache === undefined ? {} : { cacheName: cache.name }),
    },
    job: {
      version: captureJobVersion,
      uuid,
      revision: 0,
      account,
      region,
      lane: 'interactive',
      acceptedAt,
      startBy,
      deadline,
      resultSubject: acceptance.resultSubject,
      wantsBytes: delivery.wantsBytes,
      fileName,
      source: delivery.source,
      options,
      ...(cache === undefined ? {} : { cache }),
    },
  };
}
