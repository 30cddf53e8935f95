import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import { jobOf, type UnsignedJob } from '@webcapture/shared/queue/job.ts';
import { startRefresh } from '@webcapture/shared/captures/transitions.ts';
import { newOutcome, newRecord } from '../../../harness/records.ts';
import { completeCapture, type Settling } from './settling.ts';

/** Queues the first refresh of a completed capture, as a front does; times in milliseconds from now. */
export async function queueRefresh(
  { captures, jobs }: Pick<Settling, 'captures' | 'jobs'>,
  account: string,
  { startInMs = 60_000, deadlineInMs = 120_000 } = {},
): Promise<{ readonly job: UnsignedJob; readonly record: () => Promise<CaptureRecord | undefined> }> {
  const now = Date.now();
  const capture = newRecord({ account, priority: 'background', tokenCost: 2 });
  await captures.create(capture);
  await completeCapture(captures, capture, newOutcome(), capture.expiresAt);
  const times = { acceptedAt: now - 30_000, startBy: now + startInMs, deadline: now + deadlineInMs };
  const record = await captures.change(
    capture,
    startRefresh({ revision: 1, by: 'request', region: 'us-east', ...times }),
  );
  const job = jobOf(record ?? capture, 1);
  await jobs.publish(job);
  return { job, record: async () => (await captures.get(account, capture.uuid))?.value };
}
