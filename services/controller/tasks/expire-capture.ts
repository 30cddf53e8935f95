import type { CaptureRecord } from '@webcapture/shared/contract/capture-record.ts';
import type { Entry } from '@webcapture/shared/nats/entries.ts';
import { overdueAt } from '@webcapture/shared/state/capture-times.ts';
import type { CaptureRef, Captures } from '@webcapture/shared/state/captures.ts';
import type { ExpiryIndex } from '@webcapture/shared/state/expiry-index.ts';
import type { Tasks } from '@webcapture/shared/state/tasks.ts';
import { expire } from '@webcapture/shared/state/transitions.ts';

const minuteMs = 60_000;

export interface ExpiryDeps {
  readonly captures: Pick<Captures, 'change'>;
  readonly tasks: Pick<Tasks, 'schedule'>;
  readonly expiryIndex: Pick<ExpiryIndex, 'add'>;
  readonly clearAway: (record: CaptureRecord) => Promise<void>;
  /** Unix milliseconds. */
  readonly now?: () => number;
}

/**
 * Ends a capture whose time is over, and clears away what is left of one that has ended so, was deleted or failed. A
 * refresh may have given its file more time: then it comes again.
 *
 * @param known the record as it was read before, perhaps from a replica that lags: the compare-and-set tells
 */
export async function expireCapture(
  { account, uuid }: CaptureRef,
  { captures, tasks, expiryIndex, clearAway, now = Date.now }: ExpiryDeps,
  known?: Entry<CaptureRecord>,
): Promise<void> {
  const record = await captures.change({ account, uuid }, expire, known === undefined ? {} : { known });
  if (record?.status === 'completed') {
    // Never for the minute that is being worked through: there the entry would count as one that is there already.
    await expiryIndex.add({ account, uuid }, Math.max(record.expiresAt, now() + minuteMs));
  }
  if (record === null || !['expired', 'deleted', 'failed'].includes(record.status)) return;
  await clearAway(record);
  // A renderer that was at a refresh when the end came may store its file now, and die before it removes it.
  const { refresh } = record;
  if (refresh?.state === 'rendering' && now() < refresh.deadline) {
    await tasks.schedule({ kind: 'expiry', account, uuid }, overdueAt(refresh.deadline));
  }
}
