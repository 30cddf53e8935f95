import { type CaptureOutcome, type CaptureRecord, withTimings } from '@webcapture/shared/captures/capture-record.ts';
import { pendingView, resultView } from '@webcapture/shared/captures/view.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { KeptAnswer } from '../idempotency/keys.ts';
import type { KeyedWork } from '../idempotency/lease.ts';
import { isOpen } from '@webcapture/shared/captures/transitions.ts';
import type { FileStore } from '@webcapture/shared/files/file-store.ts';
import { findState, type ReadStateDeps } from './capture-state.ts';

/** The response to POST /capture: `data`, or the file. */
export interface CaptureAnswer extends KeptAnswer {
  readonly file?: CaptureFile;
  /** The record of which `data` is a view, if it was read. */
  readonly record?: CaptureRecord;
  /** Whether the response belongs to an earlier request with the same Idempotency-Key. */
  readonly isReplayed?: true;
}

export interface CaptureFile {
  readonly record: CaptureRecord;
  readonly outcome: CaptureOutcome;
  /** Content of the file that the record describes; if null, it is read from the store. */
  readonly bytes: Buffer | null;
}

export interface AnswerOptions {
  readonly wantsFile: boolean;
  readonly cdnUrl: string;
  /** Time of arrival of the request, by `performance.now()`. */
  readonly startedAt: number;
  /** Unix milliseconds by the server's clock. */
  readonly now: () => number;
}

/** Returns the response for a completed capture. */
export function answerOfEnd(
  { record, bytes, fromCache }: { record: CaptureRecord; bytes: Buffer | null; fromCache: boolean },
  { wantsFile, cdnUrl, startedAt, now }: AnswerOptions,
): CaptureAnswer {
  const { uuid, region, outcome } = record;
  if (wantsFile && outcome !== undefined) return { uuid, region, data: null, file: { record, outcome, bytes } };
  const fromCacheMs = fromCache ? Math.round(performance.now() - startedAt) : undefined;
  return { uuid, region, record, data: resultView(record, { cdnUrl, now: now(), fromCacheMs }) };
}

/** Returns the response to the request that waited for the capture, with the time since the capture has ended. */
export function awaitedAnswer(
  { record, bytes }: { record: CaptureRecord; bytes: Buffer | null },
  options: AnswerOptions,
): CaptureAnswer {
  const now = options.now();
  const answerMs = Math.max(0, now - (record.endedAt ?? now));
  return answerOfEnd({ record: withTimings(record, { answerMs }), bytes, fromCache: false }, options);
}

/** Returns the response for a queued background capture. */
export function queuedAnswer(
  record: CaptureRecord,
  { cdnUrl }: AnswerOptions,
  estimatedWaitSeconds?: number | null,
): CaptureAnswer {
  const data = pendingView(record, { cdnUrl });
  const { uuid, region } = record;
  return { uuid, region, data: estimatedWaitSeconds === undefined ? data : { ...data, estimatedWaitSeconds } };
}

/** Returns the response for an existing record. Returns null if the capture has failed, or if it is interactive and has not ended. */
function answerOfRecord(record: CaptureRecord, options: AnswerOptions): CaptureAnswer | null {
  if (record.outcome !== undefined) return answerOfEnd({ record, bytes: null, fromCache: false }, options);
  return record.priority === 'background' && isOpen(record) ? queuedAnswer(record, options) : null;
}

/**
 * Returns the response of an earlier request with the same Idempotency-Key: the same data, or the same file.
 *
 * @throws ServiceError STORAGE_FAILED if the file no longer exists
 */
export async function replayedAnswer(
  account: string,
  { uuid, region, data }: KeptAnswer,
  deps: ReadStateDeps & { readonly store: FileStore },
): Promise<CaptureAnswer> {
  if (data !== null) return { uuid, region, data, isReplayed: true };
  const record = await findState(deps, account, uuid);
  if (record?.outcome === undefined || (await deps.store.stat(record.fileName)) === null) {
    throw new ServiceError(
      'STORAGE_FAILED',
      'The file of the response to this Idempotency-Key no longer exists. Use another key to capture the page again.',
    );
  }
  return { uuid, region, data, file: { record, outcome: record.outcome, bytes: null }, isReplayed: true };
}

/** Finds the response to an earlier capture request with the same key: in the entry of the key, or in the record of the capture. */
export function keyedCapture(account: string, view: AnswerOptions, deps: ReadStateDeps): KeyedWork<KeptAnswer> {
  return {
    find: async ({ answer, lease }, keep) => {
      if (answer !== null) return { kind: 'answered', answer };
      const record = await findState(deps, account, lease.uuid);
      if (record === null) return lease.until < deps.now() ? 'none' : null;
      const found = answerOfRecord(record, view);
      if (found === null) return isOpen(record) ? null : 'none';
      await keep(found);
      return { kind: 'answered', answer: found };
    },
    isGone: async (uuid, mayEnd) => {
      const status = (await deps.captures.get(account, uuid))?.value.status;
      return (status === undefined && !mayEnd) || status === 'failed';
    },
  };
}
