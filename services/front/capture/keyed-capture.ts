import { isOpen } from '@webcapture/shared/captures/transitions.ts';
import type { KeptAnswer } from '../idempotency/keys.ts';
import type { Idempotency, KeyedRequest, KeyedWork } from '../idempotency/lease.ts';
import { answerOfRecord, type AnswerOptions } from './answer.ts';
import { canonical, sha256 } from './cache-key.ts';
import { findState, type ReadStateDeps } from './capture-state.ts';

export interface KeyedCaptureDeps extends ReadStateDeps {
  readonly idempotency: Idempotency;
}

/** A request for a capture, whose API key has been verified. */
interface KeyedCaptureRequest extends Omit<KeyedRequest, 'hashBody'> {
  /** Body after defaults. */
  readonly body: unknown;
  /** Determines the view of the capture of an earlier request. */
  readonly view: AnswerOptions;
}

/** Acquires the Idempotency-Key of a request for a capture. Its response is found by the key, or by the record of its capture. */
export function acquireForCapture({ body, view, ...request }: KeyedCaptureRequest, deps: KeyedCaptureDeps) {
  const { idempotency, captures, now } = deps;
  const work: KeyedWork<KeptAnswer> = {
    find: async ({ answer, lease }, keep) => {
      if (answer !== null) return { kind: 'answered', answer };
      const record = await findState(deps, request.account, lease.uuid);
      if (record === null) return lease.until < now() ? 'none' : null;
      const found = answerOfRecord(record, view);
      if (found === null) return isOpen(record) ? null : 'none';
      await keep(found);
      return { kind: 'answered', answer: found };
    },
    isGone: async (uuid, mayEnd) => {
      const status = (await captures.get(request.account, uuid))?.value.status;
      return (status === undefined && !mayEnd) || status === 'failed';
    },
  };
  return idempotency.acquire({ ...request, hashBody: () => sha256(canonical(body)) }, work);
}
