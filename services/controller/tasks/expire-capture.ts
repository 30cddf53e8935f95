import type { CaptureRecord } from '@webcapture/shared/contract/capture-record.ts';
import { overdueAt } from '@webcapture/shared/state/capture-times.ts';
import type { Captures } from '@webcapture/shared/state/captures.ts';
import type { Tasks } from '@webcapture/shared/state/tasks.ts';
import { expire } from '@webcapture/shared/state/transitions.ts';
import type { TaskOf } from './run-tasks.ts';

export interface ExpiryDeps {
  readonly captures: Pick<Captures, 'change'>;
  readonly tasks: Pick<Tasks, 'schedule'>;
  readonly clearAway: (record: CaptureRecord) => Promise<void>;
}

/**
 * Ends a capture whose time is over, and clears away what is left of one that has ended so, was deleted or failed. A
 * refresh may have given its file more time: then it comes again.
 */
export async function expireCapture(task: TaskOf<'expiry'>, { captures, tasks, clearAway }: ExpiryDeps): Promise<void> {
  const record = await captures.change(task, expire);
  if (record?.status === 'completed') await tasks.schedule(task, record.expiresAt);
  if (record === null || !['expired', 'deleted', 'failed'].includes(record.status)) return;
  await clearAway(record);
  // A renderer that was at a refresh when the end came may store its file now, and die before it removes it.
  const { refresh } = record;
  if (refresh?.state === 'rendering' && Date.now() < refresh.deadline) {
    await tasks.schedule(task, overdueAt(refresh.deadline));
  }
}
