import type {
  CaptureResult,
  CaptureState,
  CaptureStatus,
  DeletedCapture,
  FailedCapture,
  PendingCapture,
  RefreshView,
  SecretsView,
  WebhookView,
} from '../api/capture.ts';
import { secretOptionNames } from '../api/option-table.ts';
import { isNamedSecret } from '../api/secret-options.ts';
import type { CaptureRecord, CaptureFailure } from './capture-record.ts';

interface ViewOptions {
  /** Base URL of files: a file is at `<cdnUrl>/<name>`. */
  readonly cdnUrl: string;
  /** Unix milliseconds. */
  readonly now: number;
  /** Set if the capture answers a request from the cache: the duration of that request in milliseconds. */
  readonly fromCacheMs?: number | undefined;
}

/** Returns the client's view of a capture in any state. */
export function captureView(record: CaptureRecord, options: ViewOptions): CaptureState {
  switch (record.status) {
    case 'queued':
    case 'rendering':
      return pendingView(record, options);
    case 'failed':
      return failedView(record, options);
    case 'completed':
    case 'expired':
      return resultView(record, options);
    case 'deleted':
      return record.outcome === undefined ? deletedView(record) : resultView(record, options);
  }
}

/** Returns the status for clients: a completed capture past its expiry counts as expired. `now` in Unix milliseconds. */
export function statusOf(
  { status, expiresAt }: Pick<CaptureRecord, 'status' | 'expiresAt'>,
  now: number,
): CaptureStatus {
  return status === 'completed' && expiresAt <= now ? 'expired' : status;
}

/** Whether a capture has diagnostics that have not expired. @param now Unix milliseconds */
export function hasDiagnostics({ status, diagnostics, expiresAt }: CaptureRecord, now: number): boolean {
  if (diagnostics === undefined || diagnostics.isExpired === true) return false;
  return (status === 'completed' && expiresAt > now) || (status === 'failed' && diagnostics.expiresAt > now);
}

const diagnosticsView = (record: CaptureRecord, now: number) =>
  hasDiagnostics(record, now) ? ({ hasDiagnostics: true } as const) : {};

/** Returns the `data` of a completed capture; `expired` if its file no longer exists. */
export function resultView(record: CaptureRecord, { cdnUrl, now, fromCacheMs }: ViewOptions): CaptureResult {
  const { outcome } = record;
  if (outcome === undefined) throw new TypeError(`the record of ${record.uuid} has no outcome`);
  const { mimeType, fileSizeBytes, width, height, pages, capturedAt } = outcome;
  const status = statusOf(record, now);
  return {
    uuid: record.uuid,
    status: status === 'expired' || status === 'deleted' ? status : 'completed',
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
      ...(pages === undefined ? {} : { pages }),
      viewport: record.options.viewport,
      fullPage: record.options.isFullPage,
      ...secretsView(record),
      expiresAt: new Date(record.expiresAt).toISOString(),
    },
    report: outcome.report,
    ...batchOf(record),
    ...diagnosticsView(record, now),
    ...refreshView(record, cdnUrl),
    ...webhookView(record),
  };
}

/** Returns the `data` of a capture that has not ended. */
export function pendingView(record: CaptureRecord, { cdnUrl }: Pick<ViewOptions, 'cdnUrl'>): PendingCapture {
  return {
    ...withoutResult(record),
    status: record.status === 'rendering' ? 'rendering' : 'queued',
    fileUrl: fileUrl(record, cdnUrl),
    tokenCost: record.tokenCost,
    ...webhookView(record),
  };
}

/** Returns a failure for clients. */
export const failureView = ({ code, message, cause }: CaptureFailure): FailedCapture['error'] => ({
  code,
  message,
  cause,
});

const unknownFailure = { code: 'INTERNAL_ERROR', message: 'The capture failed.', cause: 'service' } as const;

function failedView(record: CaptureRecord, { now }: Pick<ViewOptions, 'now'>): FailedCapture {
  return {
    ...withoutResult(record),
    status: 'failed',
    tokenCost: 0,
    processingTimeMs: processingTime(record),
    error: failureView(record.failure ?? unknownFailure),
    ...diagnosticsView(record, now),
    ...webhookView(record),
  };
}

const deletedView = (record: CaptureRecord): DeletedCapture => ({
  ...withoutResult(record),
  status: 'deleted',
  tokenCost: 0,
});

/** The fields of a capture without a file. */
function withoutResult(record: CaptureRecord) {
  const { uuid, region, acceptedAt, url, options } = record;
  const { format, viewport, isFullPage } = options;
  return {
    uuid,
    fromCache: false,
    region,
    acceptedAt: new Date(acceptedAt).toISOString(),
    ...batchOf(record),
    metadata: { url, format, viewport, fullPage: isFullPage, ...secretsView(record) },
  } as const;
}

const batchOf = ({ batch }: CaptureRecord) => (batch === undefined ? {} : { batch });

/** Returns the names of the secrets; values are never shown. */
function secretsView({ options: { secrets } }: CaptureRecord): { readonly secrets?: SecretsView } {
  if (secrets === undefined) return {};
  const shown = secretOptionNames.map((name) => [name, secrets[name] ?? (isNamedSecret(name) ? [] : false)]);
  return { secrets: { ...secrets, ...Object.fromEntries(shown) } };
}

/** Returns the comparison of the refresh with that number; undefined if its pictures were not compared. */
export const comparisonOf = ({ comparisons = [] }: CaptureRecord, number: number | undefined) =>
  comparisons.find(({ refresh }) => refresh === number);

/** Returns how a refresh has changed the picture, for the account holder. */
export function comparisonView(record: CaptureRecord, number: number | undefined, cdnUrl: string) {
  const found = comparisonOf(record, number);
  if (found === undefined) return undefined;
  const { changedShare, hasChanged, difference } = found;
  return { changedShare, hasChanged, differenceUrl: difference === undefined ? null : `${cdnUrl}/${difference.name}` };
}

function refreshView(record: CaptureRecord, cdnUrl: string): { readonly refresh?: RefreshView } {
  const { refresh, persistence, nextRefreshAt, refreshCharges = {} } = record;
  if (refresh === undefined && persistence === undefined) return {};
  const { failure, revision } = refresh ?? {};
  const comparison = comparisonView(record, revision, cdnUrl);
  const earlier = record.earlierFiles?.find(({ replacedBy }) => replacedBy === revision);
  const previousFileUrl = earlier === undefined ? null : `${cdnUrl}/${earlier.name}`;
  return {
    refresh: {
      state: refresh?.state ?? 'idle',
      error: failure === undefined ? null : failureView(failure),
      acceptedAt: isoOrNull(refresh?.acceptedAt),
      endedAt: isoOrNull(refresh?.endedAt),
      nextAt: isoOrNull(nextRefreshAt),
      tokensCharged: Object.values(refreshCharges).reduce((sum, { tokens }) => sum + tokens, 0),
      ...(comparison === undefined ? {} : { comparison: { ...comparison, previousFileUrl } }),
    },
  };
}

export function webhookView({ webhook }: Pick<CaptureRecord, 'webhook'>): { readonly webhook?: WebhookView } {
  if (webhook === undefined) return {};
  const { url, state, event, attempts, lastStatus, lastError, nextAttemptAt } = webhook;
  return {
    webhook: {
      url,
      state,
      event: event ?? null,
      attempts,
      lastStatus: lastStatus ?? null,
      lastError: lastError ?? null,
      nextAttemptAt: isoOrNull(nextAttemptAt),
    },
  };
}

const isoOrNull = (time: number | undefined) => (time === undefined ? null : new Date(time).toISOString());

export const fileUrl = ({ fileName }: Pick<CaptureRecord, 'fileName'>, cdnUrl: string) => `${cdnUrl}/${fileName}`;

/**
 * Returns the duration of the rendering that made the current file. It is never negative, although front and renderer have separate clocks.
 */
const processingTime = ({ acceptedAt, endedAt = acceptedAt, refreshMs }: CaptureRecord) =>
  Math.max(0, refreshMs ?? endedAt - acceptedAt);
