import type { CaptureOutcome, CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import { pendingView, resultView } from '@webcapture/shared/captures/view.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { KeptAnswer } from './idempotency-keys.ts';
import { isOpen } from '@webcapture/shared/captures/transitions.ts';
import type { FileStore } from '@webcapture/shared/files/file-store.ts';
import { findState, type ReadStateDeps } from './capture-state.ts';

/** What POST /capture answers: `data`, or the file. */
export interface CaptureAnswer extends KeptAnswer {
  readonly file?: CaptureFile;
  /** That `data` is made of, where it has been read. */
  readonly record?: CaptureRecord;
  /** It is the answer of an earlier request with the same Idempotency-Key. */
  readonly isReplayed?: true;
}

export interface CaptureFile {
  readonly record: CaptureRecord;
  readonly outcome: CaptureOutcome;
  /** Those of the very file that the record tells of; null: they are read from the store. */
  readonly bytes: Buffer | null;
}

export interface AnswerOptions {
  readonly wantsFile: boolean;
  readonly cdnUrl: string;
  /** When the request came, on the clock of `performance.now()`. */
  readonly startedAt: number;
  /** Unix milliseconds by the server's clock. */
  readonly now: () => number;
}

/** The answer to whoever waited for a capture that has completed. */
export function answerOfEnd(
  { record, bytes, fromCache }: { record: CaptureRecord; bytes: Buffer | null; fromCache: boolean },
  { wantsFile, cdnUrl, startedAt, now }: AnswerOptions,
): CaptureAnswer {
  const { uuid, region, outcome } = record;
  if (wantsFile && outcome !== undefined) return { uuid, region, data: null, file: { record, outcome, bytes } };
  const fromCacheMs = fromCache ? Math.round(performance.now() - startedAt) : undefined;
  return { uuid, region, record, data: resultView(record, { cdnUrl, now: now(), fromCacheMs }) };
}

/** The answer to a background capture. */
export function queuedAnswer(
  record: CaptureRecord,
  { cdnUrl }: AnswerOptions,
  estimatedWaitSeconds?: number | null,
): CaptureAnswer {
  const data = pendingView(record, { cdnUrl });
  const { uuid, region } = record;
  return { uuid, region, data: estimatedWaitSeconds === undefined ? data : { ...data, estimatedWaitSeconds } };
}

/** What the request for a capture is answered that is found as it stands; null: nothing yet, or it has failed. */
export function answerOfRecord(record: CaptureRecord, options: AnswerOptions): CaptureAnswer | null {
  if (record.outcome !== undefined) return answerOfEnd({ record, bytes: null, fromCache: false }, options);
  return record.lane === 'background' && isOpen(record) ? queuedAnswer(record, options) : null;
}

/**
 * The answer of an earlier request with the same Idempotency-Key: its data as it was, or the same file.
 *
 * @throws ServiceError STORAGE_FAILED when the file is no longer there
 */
export async function replayedAnswer(
  account: string,
  { uuid, region, data }: KeptAnswer,
  deps: ReadStateDeps & { readonly store: Pick<FileStore, 'stat'> },
): Promise<CaptureAnswer> {
  if (data !== null) return { uuid, region, data, isReplayed: true };
  const record = await findState(deps, account, uuid);
  if (record?.outcome === undefined || (await deps.store.stat(record.fileName)) === null) {
    throw new ServiceError(
      'STORAGE_FAILED',
      'The file that was answered for this Idempotency-Key is no longer there. Send another key to capture the page again.',
    );
  }
  return { uuid, region, data, file: { record, outcome: record.outcome, bytes: null }, isReplayed: true };
}
