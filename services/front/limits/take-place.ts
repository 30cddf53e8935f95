import type { CaptureRecord } from '@webcapture/shared/contract/capture-record.ts';
import type { Lane } from '@webcapture/shared/contract/capture-job.ts';
import type { Account } from '@webcapture/shared/state/accounts.ts';
import type { AdmissionRequest } from '@webcapture/shared/state/admission.ts';
import type { FastifyReply } from 'fastify';
import type { FrontDeps } from '../deps.ts';
import { limitHeaders } from './limit-headers.ts';
import { refusalOf } from './refusal.ts';

/** A place among the captures of an account that are under way. */
export interface Place {
  /** Gives it back: `record` is the last that is known of a capture that a client waits for. */
  leave(record?: CaptureRecord): Promise<void>;
}

/** What a place is asked for. */
export interface PlaceRequest {
  readonly account: Account;
  /** Names the place: the uuid of the capture, or the hold of a refresh. */
  readonly id: string;
  readonly tokens: number;
  readonly lane: Lane;
  /** When the place lapses by itself; Unix milliseconds. */
  readonly until: number;
  /** Seconds that a background capture would wait now; null when nobody can tell. */
  readonly waitSeconds: number | null;
}

/**
 * Takes a place, if the limits of the account allow it, and tells the client in headers how it stands with them.
 *
 * @throws ServiceError RATE_LIMIT_EXCEEDED, QUOTA_EXCEEDED, QUEUE_FULL; INTERNAL_ERROR when the limits cannot be checked
 */
export async function takePlace(
  { account, waitSeconds, ...request }: PlaceRequest,
  reply: FastifyReply,
  { gate, now }: Pick<FrontDeps, 'gate' | 'now'>,
): Promise<Place> {
  const admission: AdmissionRequest = request;
  const verdict = await gate.enter(account, admission);
  void reply.headers(limitHeaders(account, verdict, waitSeconds));
  const refusal = refusalOf(verdict, account, { tokens: request.tokens, now: now() });
  if (refusal !== null) throw refusal;
  return { leave: (record) => gate.leave(account.id, admission, record) };
}
