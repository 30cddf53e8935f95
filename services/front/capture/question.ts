import type { CaptureRecord } from '@webcapture/shared/contract/capture-record.ts';
import type { Account } from '@webcapture/shared/state/accounts.ts';
import type { NameCapture } from '../idempotency/idempotency.ts';
import type { AcceptedRequest } from './accept-request.ts';

/** What is to be answered: from the cache, if there is a candidate that still stands, or by rendering. */
export interface Question {
  readonly accepted: AcceptedRequest;
  readonly account: Account;
  readonly candidate: CaptureRecord | null;
  readonly nameCapture: NameCapture;
  readonly wantsFile: boolean;
  readonly clientGone: AbortSignal;
}
