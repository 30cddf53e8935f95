import type { CaptureRecord } from '@webcapture/shared/contract/capture-record.ts';
import { ServiceError } from '@webcapture/shared/errors/service-error.ts';
import type { Captures } from '@webcapture/shared/state/captures.ts';
import type { Transition } from '@webcapture/shared/state/transitions.ts';
import { reach } from '../http/reach.ts';

const changeMs = 3000;

/**
 * Changes the record of an account's capture; returns how it stands afterwards, changed or not. A change that was
 * refused for want of time may still be made.
 *
 * @throws ServiceError CAPTURE_NOT_FOUND, or INTERNAL_ERROR when the record cannot be reached
 */
export async function changeCapture(
  { captures }: { readonly captures: Pick<Captures, 'change'> },
  account: string,
  uuid: string,
  transition: Transition,
): Promise<CaptureRecord> {
  const change = () => captures.change({ account, uuid }, transition);
  const record = await reach(change, changeMs, 'The capture cannot be changed right now.');
  if (record === null) throw new ServiceError('CAPTURE_NOT_FOUND');
  return record;
}
