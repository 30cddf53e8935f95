import type { Batch, BatchCapture, BatchCounts, BatchSummary } from '../api/batch.ts';
import type { CaptureStatus } from '../api/capture.ts';
import type { NatsSession } from '../nats/connect.ts';
import { readInParts } from '../nats/read-many.ts';
import { type BatchRecord, isAccepted } from './batch-record.ts';
import type { CaptureFailure, CaptureRecord } from './capture-record.ts';
import { captureKey } from './captures.ts';
import { timeOfUuid } from './uuid.ts';
import { fileUrl, statusOf, webhookView } from './view.ts';

/** The fields of the record of a capture that a batch needs. */
interface CaptureSummary extends Pick<
  CaptureRecord,
  'uuid' | 'url' | 'status' | 'expiresAt' | 'endedAt' | 'fileName' | 'failure'
> {
  readonly format: CaptureRecord['options']['format'];
  /** Tokens that were charged for the capture itself. */
  readonly tokens: number;
}

/** One capture of a batch, in the order of the requests. */
export interface BatchItem {
  readonly uuid: string;
  readonly status: CaptureStatus;
  /** Undefined if the capture was not accepted, is not accepted yet, or has no record any more. */
  readonly capture: CaptureSummary | undefined;
  readonly failure?: Pick<CaptureFailure, 'code' | 'message'>;
  readonly isCached: boolean;
}

/** Number of records that are read together. A record can have hundreds of kilobytes, of which a batch needs little. */
const recordsAtOnce = 100;

/** Reads the states of the captures of a batch. Any replica may answer, so states may be slightly outdated. */
export async function readBatchItems(session: NatsSession, batch: BatchRecord, now: number): Promise<BatchItem[]> {
  const found = new Map<string, CaptureSummary>();
  const keys = [...new Set(batch.captures)].map((uuid) => captureKey(batch.account, uuid));
  for await (const records of readInParts<CaptureRecord>(session, 'db', keys, recordsAtOnce)) {
    for (const record of records.values()) found.set(record.uuid, summaryOf(record));
  }
  const cached = new Set(batch.cached);
  return batch.captures.map((uuid, index) => ({
    uuid,
    isCached: cached.has(index),
    ...stateOf(batch, index, found.get(uuid), now),
  }));
}

function summaryOf(record: CaptureRecord): CaptureSummary {
  const { uuid, url, status, expiresAt, endedAt, fileName, failure, options, outcome, tokenCost } = record;
  return {
    uuid,
    url,
    status,
    expiresAt,
    fileName,
    format: options.format,
    tokens: outcome === undefined ? 0 : tokenCost,
    ...(endedAt === undefined ? {} : { endedAt }),
    ...(failure === undefined ? {} : { failure }),
  };
}

function stateOf(
  batch: BatchRecord,
  index: number,
  capture: CaptureSummary | undefined,
  now: number,
): Pick<BatchItem, 'status' | 'capture' | 'failure'> {
  const refusal = batch.refused?.[index];
  // A refused capture has a record if it was cancelled.
  if (refusal !== undefined) return { status: 'failed', capture: undefined, failure: refusal };
  if (capture !== undefined) {
    const { failure } = capture;
    return { status: statusOf(capture, now), capture, ...(failure === undefined ? {} : { failure }) };
  }
  if (!isAccepted(batch, now)) return { status: 'queued', capture };
  // Records of captures are removed some months after their files.
  if (batch.acceptedAt !== undefined) return { status: 'expired', capture };
  return { status: 'failed', capture, failure: notAccepted };
}

const notAccepted = {
  code: 'INTERNAL_ERROR',
  message: 'The capture was not accepted, because the request for the batch ended early.',
} as const;

/** Whether a capture of a batch has not ended. */
export const isItemOpen = ({ status }: Pick<BatchItem, 'status'>): boolean =>
  status === 'queued' || status === 'rendering';

/** Returns a batch without its captures for the account holder. */
export function batchSummary(batch: BatchRecord, items: readonly BatchItem[], now: number): BatchSummary {
  const counts: BatchCounts = {
    total: items.length,
    queued: 0,
    rendering: 0,
    completed: 0,
    failed: 0,
    expired: 0,
    deleted: 0,
  };
  for (const { status } of items) counts[status]++;
  const createdAt = timeOfUuid(batch.uuid) ?? 0;
  const status = !isAccepted(batch, now)
    ? 'accepting'
    : counts.queued + counts.rendering > 0
      ? 'processing'
      : 'completed';
  // A capture from the cache has ended before the batch began.
  const ends = items.map(({ capture }) => capture?.endedAt ?? 0);
  const endedAt = Math.max(batch.acceptedAt ?? createdAt, ...ends);
  return {
    id: batch.uuid,
    status,
    createdAt: new Date(createdAt).toISOString(),
    endedAt: status === 'completed' ? new Date(endedAt).toISOString() : null,
    counts,
    tokensCharged: items.reduce((sum, { capture, isCached }) => sum + (isCached ? 0 : (capture?.tokens ?? 0)), 0),
    ...webhookView(batch),
  };
}

/** Returns a batch for the account holder. */
export function batchView(
  batch: BatchRecord,
  items: readonly BatchItem[],
  { cdnUrl, now }: { readonly cdnUrl: string; readonly now: number },
): Batch {
  return { ...batchSummary(batch, items, now), captures: items.map((item) => captureOf(item, cdnUrl)) };
}

const captureOf = ({ uuid, status, capture, failure, isCached }: BatchItem, cdnUrl: string): BatchCapture => ({
  uuid,
  url: capture?.url ?? null,
  status,
  fromCache: isCached,
  fileUrl: capture === undefined || status !== 'completed' ? null : fileUrl(capture, cdnUrl),
  error: failure === undefined ? null : { code: failure.code, message: failure.message },
});
