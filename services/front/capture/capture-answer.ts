import type { CaptureOutcome, CaptureRecord } from '@webcapture/shared/contract/capture-record.ts';
import type { CaptureResult } from '@webcapture/shared/contract/capture-result.ts';
import type { PendingCapture } from '@webcapture/shared/contract/capture-state.ts';
import { pendingView, resultView } from '@webcapture/shared/contract/capture-view.ts';
import type { KeptAnswer } from '@webcapture/shared/state/idempotency.ts';
import { isOpen } from '@webcapture/shared/state/transitions.ts';
import type { CacheAnswer } from '../cache/response-cache.ts';

/** What POST /capture answers: `data`, or the file. */
export interface CaptureAnswer extends KeptAnswer {
  readonly file?: { readonly record: CaptureRecord; readonly outcome: CaptureOutcome; readonly bytes: Buffer | null };
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
export function answerOfEnd({ record, bytes, fromCache }: CacheAnswer, options: AnswerOptions): CaptureAnswer {
  const { wantsFile, cdnUrl, startedAt, now } = options;
  const { uuid, region, outcome } = record;
  if (wantsFile && outcome !== undefined) return { uuid, region, data: null, file: { record, outcome, bytes } };
  const fromCacheMs = fromCache ? Math.round(performance.now() - startedAt) : undefined;
  return { uuid, region, data: resultView(record, { cdnUrl, now: now(), fromCacheMs }) };
}

/** The answer to a background capture. */
export function queuedAnswer(data: CaptureResult | PendingCapture): CaptureAnswer {
  return { uuid: data.uuid, region: data.region, data };
}

/** What the request for a capture is answered that is found as it stands; null: nothing yet, or it has failed. */
export function answerOfRecord(record: CaptureRecord, options: AnswerOptions): CaptureAnswer | null {
  if (record.outcome !== undefined) return answerOfEnd({ record, bytes: null, fromCache: false }, options);
  return record.lane === 'background' && isOpen(record) ? queuedAnswer(pendingView(record, options)) : null;
}
