import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { Captures } from '@webcapture/shared/captures/captures.ts';
import type { FollowUps } from '@webcapture/shared/queue/follow-ups.ts';
import { isOpen, type Transition } from '@webcapture/shared/captures/transitions.ts';
import { callNats } from '../nats.ts';

/** Time after the deadline of an open capture in which only its front and the leader may end it. */
const graceMs = 3000;

export interface ReadStateDeps {
  readonly captures: Captures;
  readonly followUps: FollowUps;
  /** Unix milliseconds by the server's clock. */
  readonly now: () => number;
}

/**
 * Returns the current record of an account's capture, or null if there is none. If the capture is still open after its deadline, all
 * processes that should have ended it have died. This function then fails it, so that clients do not wait forever.
 *
 * @throws ServiceError INTERNAL_ERROR if the record cannot be read
 */
export function findState(
  { captures, followUps, now }: ReadStateDeps,
  account: string,
  uuid: string,
): Promise<CaptureRecord | null> {
  const read = async () => {
    const record = (await captures.get(account, uuid))?.value ?? null;
    if (record === null || !isOpen(record) || now() <= record.deadline + graceMs) return record;
    const ended = await captures.fail(record, abandoned);
    if (ended !== null) await followUps.schedule(ended);
    return ended;
  };
  return callNats(read, 'The capture cannot be looked up right now.');
}

/** Like {@link findState}, but throws ServiceError CAPTURE_NOT_FOUND if there is no record. */
export async function readState(deps: ReadStateDeps, account: string, uuid: string): Promise<CaptureRecord> {
  const record = await findState(deps, account, uuid);
  if (record === null) throw new ServiceError('CAPTURE_NOT_FOUND');
  return record;
}

const abandoned = {
  code: 'CAPTURE_TIMEOUT',
  message: 'The capture did not end in time. Send the request again.',
  cause: 'service',
} as const;

/**
 * Changes the record of an account's capture. Returns the current record, changed or not. After a timeout, the change
 * may still take effect.
 *
 * @throws ServiceError CAPTURE_NOT_FOUND, or INTERNAL_ERROR if the record cannot be reached
 */
export async function changeCapture(
  { captures }: { readonly captures: Captures },
  account: string,
  uuid: string,
  transition: Transition,
): Promise<CaptureRecord> {
  const change = () => captures.change({ account, uuid }, transition);
  const record = await callNats(change, 'The capture cannot be changed right now.');
  if (record === null) throw new ServiceError('CAPTURE_NOT_FOUND');
  return record;
}
