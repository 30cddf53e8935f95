import type { CaptureRecord } from '@webcapture/shared/contract/capture-record.ts';
import type { Account } from '@webcapture/shared/state/accounts.ts';
import type { AdmissionRequest } from '@webcapture/shared/state/admission.ts';
import { timeOfUuid } from '@webcapture/shared/state/uuid.ts';
import type { FastifyReply } from 'fastify';
import type { AcceptedRequest } from '../capture/accept-request.ts';
import { deadlineOf } from '../capture/build-record.ts';
import type { FrontDeps } from '../deps.ts';
import { limitHeaders } from './limit-headers.ts';
import { refusalOf } from './refusal.ts';

/** A place among the captures of an account that are under way. */
export interface Place {
  /** Gives it back: `record` is the last that is known of the capture. */
  leave(record: CaptureRecord | undefined): Promise<void>;
}

/**
 * Takes a place for a capture, if the limits of the account allow it, and tells the client in headers how it stands with
 * them. The place lapses by itself when the capture's time is over.
 *
 * @throws ServiceError RATE_LIMIT_EXCEEDED, QUOTA_EXCEEDED, QUEUE_FULL; INTERNAL_ERROR when the limits cannot be checked
 */
export async function takePlace(
  capture: { readonly account: Account; readonly uuid: string; readonly accepted: AcceptedRequest },
  reply: FastifyReply,
  { gate, config, now }: Pick<FrontDeps, 'gate' | 'config' | 'now'>,
): Promise<Place> {
  const { account, uuid, accepted } = capture;
  const startBy = (timeOfUuid(uuid) ?? now()) + config.queueTimeoutMs;
  const request: AdmissionRequest = {
    id: uuid,
    tokens: accepted.tokenCost,
    lane: 'interactive',
    until: deadlineOf(accepted.options, startBy),
  };
  const verdict = await gate.enter(account, request);
  void reply.headers(limitHeaders(account, verdict));
  const refusal = refusalOf(verdict, account, { tokens: request.tokens, now: now() });
  if (refusal !== null) throw refusal;
  return { leave: (record) => gate.leave(account.id, request, record) };
}
