import type { CaptureRecord } from '../contract/capture-record.ts';
import { backgroundWaitMs, deadlineOf } from './capture-times.ts';
import { nextRevision, type RefreshOrder } from './transitions.ts';

/** The order for the next refresh of a capture, which has as long as a background capture. */
export function refreshOrderOf(
  record: CaptureRecord,
  order: Pick<RefreshOrder, 'by' | 'region' | 'acceptedAt' | 'isolation'>,
): RefreshOrder {
  const startBy = order.acceptedAt + backgroundWaitMs;
  return { ...order, revision: nextRevision(record), startBy, deadline: deadlineOf(record.options, startBy) };
}
