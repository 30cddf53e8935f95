import type { Batches } from '@webcapture/shared/captures/batches.ts';
import { type BatchRecord, endBatch, isAccepted } from '@webcapture/shared/captures/batch-record.ts';
import { type BatchItem, isItemOpen } from '@webcapture/shared/captures/batch-state.ts';
import type { Captures } from '@webcapture/shared/captures/captures.ts';
import { dispatchAfterMs } from '@webcapture/shared/captures/times.ts';
import { isOpen } from '@webcapture/shared/captures/transitions.ts';
import { timeOfUuid } from '@webcapture/shared/captures/uuid.ts';
import { pendingDelivery } from '@webcapture/shared/queue/follow-ups.ts';
import type { TaskOf, Tasks } from '@webcapture/shared/queue/tasks.ts';

export interface BatchTaskDeps {
  readonly batches: Batches;
  readonly captures: Captures;
  readonly tasks: Tasks;
  readonly readItems: (batch: BatchRecord) => Promise<readonly BatchItem[]>;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** Maximum time until the record of a batch is written. */
const unwrittenMs = 120_000;

/** Limits of the interval of checks of a batch, which is a twentieth of the batch's age. */
const intervalMs = { min: 1000, max: 30_000 };

/**
 * Begins the delivery of the event of a batch with a webhook if all of its captures have ended. Otherwise schedules the next check. This
 * usually reads only one capture, which had not ended at the last check.
 */
export async function lookAtBatch(task: TaskOf<'batch'>, deps: BatchTaskDeps): Promise<void> {
  const { batches, captures, tasks, readItems, now } = deps;
  const { account, uuid, witness } = task;
  const createdAt = timeOfUuid(uuid) ?? 0;
  const batch = await batches.get(account, uuid);
  if (batch === null) {
    // The front may be about to write the record.
    if (now() - createdAt < unwrittenMs) await tasks.schedule(task, now() + dispatchAfterMs);
    return;
  }
  const again = { kind: 'batch', account, uuid } as const;
  const nextAt = () => now() + Math.min(intervalMs.max, Math.max(intervalMs.min, (now() - createdAt) / 20));
  if (batch.webhook?.state === 'waiting') {
    const known = witness === undefined ? null : await captures.get(account, witness);
    if (known !== null && isOpen(known.value)) return tasks.schedule({ ...again, witness: known.value.uuid }, nextAt());
    // An outdated state can only be an open one, because the state of an ended capture is final.
    const open = (await readItems(batch)).findLast(isItemOpen);
    if (open !== undefined) return tasks.schedule({ ...again, witness: open.uuid }, nextAt());
    if (!isAccepted(batch, now())) return tasks.schedule(again, nextAt());
  }
  const ended = await batches.change(batch, endBatch(now()));
  const delivery = ended && pendingDelivery(ended);
  if (delivery?.attempt === 1) await tasks.publish(delivery);
}
