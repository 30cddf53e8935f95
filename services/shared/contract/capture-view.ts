import type { CaptureRecord } from './capture-record.ts';
import type { CaptureResult, CaptureStatus } from './capture-result.ts';
import type { CaptureState, FailedCapture, PendingCapture } from './capture-state.ts';

export interface ViewOptions {
  /** Files are at `<cdnUrl>/<name>`. */
  readonly cdnUrl: string;
  /** Unix milliseconds. */
  readonly now: number;
  /** It answers a request that was not rendered for: how long that request took, in milliseconds. */
  readonly fromCacheMs?: number | undefined;
}

/** What a client is told of a capture, whatever its state. */
export function captureView(record: CaptureRecord, options: ViewOptions): CaptureState {
  switch (record.status) {
    case 'queued':
    case 'rendering':
      return pendingView(record, record.status, options);
    case 'failed':
      return failedView(record);
    case 'completed':
    case 'expired':
    case 'deleted':
      return resultView(record, options);
  }
}

/** The status that a client is told: a file whose time has passed is as good as gone. `now` in Unix milliseconds. */
export function statusOf({ status, expiresAt }: CaptureRecord, now: number): CaptureStatus {
  return status === 'completed' && expiresAt <= now ? 'expired' : status;
}

/** The `data` of a capture that has completed; `expired` once its file is gone. */
export function resultView(record: CaptureRecord, { cdnUrl, now, fromCacheMs }: ViewOptions): CaptureResult {
  const { outcome } = record;
  if (outcome === undefined) throw new TypeError(`the record of ${record.uuid} has no outcome`);
  const { mimeType, fileSizeBytes, width, height, capturedAt } = outcome;
  return {
    uuid: record.uuid,
    status: statusOf(record, now),
    fileUrl: fileUrl(record, cdnUrl),
    fromCache: fromCacheMs !== undefined,
    tokenCost: fromCacheMs === undefined ? record.tokenCost : 0,
    fileSizeBytes,
    processingTimeMs: fromCacheMs ?? processingTime(record),
    region: outcome.region,
    metadata: {
      url: record.url,
      capturedAt: new Date(capturedAt).toISOString(),
      createdAt: Math.floor(capturedAt / 1000),
      format: record.options.format,
      mimeType,
      fileSizeBytes,
      width,
      height,
      viewport: record.options.viewport,
      fullPage: record.options.isFullPage,
      expiresAt: new Date(record.expiresAt).toISOString(),
    },
    report: outcome.report,
  };
}

function pendingView(record: CaptureRecord, status: PendingCapture['status'], { cdnUrl }: ViewOptions): PendingCapture {
  return {
    uuid: record.uuid,
    status,
    fileUrl: fileUrl(record, cdnUrl),
    fromCache: false,
    tokenCost: record.tokenCost,
    region: record.region,
    acceptedAt: new Date(record.acceptedAt).toISOString(),
    metadata: asked(record),
  };
}

function failedView(record: CaptureRecord): FailedCapture {
  const { code, message } = record.failure ?? { code: 'INTERNAL_ERROR', message: 'The capture failed.' };
  return {
    uuid: record.uuid,
    status: 'failed',
    fromCache: false,
    tokenCost: 0,
    region: record.region,
    processingTimeMs: processingTime(record),
    acceptedAt: new Date(record.acceptedAt).toISOString(),
    error: { code, message },
    metadata: asked(record),
  };
}

const asked = ({ url, options: { format, viewport, isFullPage } }: CaptureRecord) => ({
  url,
  format,
  viewport,
  fullPage: isFullPage,
});

const fileUrl = ({ fileName }: CaptureRecord, cdnUrl: string) => `${cdnUrl}/${fileName}`;

/** Front and renderer each have a clock of their own: never less than nothing. */
const processingTime = ({ acceptedAt, endedAt }: CaptureRecord) => Math.max(0, (endedAt ?? acceptedAt) - acceptedAt);
