import { randomUUIDv7 } from 'node:crypto';
import type { CaptureJob, Lane } from '@webcapture/shared/contract/capture-job.ts';
import type { CaptureRecord } from '@webcapture/shared/contract/capture-record.ts';
import type { Region } from '@webcapture/shared/contract/regions.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { Captures } from '@webcapture/shared/state/captures.ts';
import { Jobs, type QueuedJob } from '@webcapture/shared/state/jobs.ts';
import { newCanary } from '../../../../services/controller/chores/canary-job.ts';

export interface QueueOptions {
  readonly region?: Region;
  readonly lane?: Lane;
  /** Milliseconds from now; negative: it has passed. */
  readonly startInMs?: number;
  readonly deadlineInMs?: number;
  /** Without a record, as if it had been deleted. */
  readonly unrecorded?: boolean;
  readonly job?: Partial<CaptureJob>;
}

export interface Queued {
  readonly job: CaptureJob;
  readonly queued: QueuedJob;
  record(): Promise<CaptureRecord | null>;
}

/** Queues a capture as a front does. */
export async function queueCapture(session: NatsSession, options: QueueOptions = {}): Promise<Queued> {
  const { region = 'us-east', lane = 'interactive', startInMs = 60_000, deadlineInMs = 120_000 } = options;
  const captures = new Captures(session);
  const uuid = randomUUIDv7();
  const now = Date.now();
  const canary = newCanary(region, deadlineInMs, `test.result.${uuid}`);
  const times = { acceptedAt: now - 30_000, startBy: now + startInMs, deadline: now + deadlineInMs };
  const job: CaptureJob = { ...canary.job, ...times, uuid, account: 'acme', lane, ...options.job };
  if (options.unrecorded !== true) {
    await captures.create({ ...canary.record, ...times, uuid, account: 'acme', tokenCost: 1 });
  }
  const queued = await new Jobs(session).publish(job);
  return { job, queued, record: async () => (await captures.get('acme', uuid))?.value ?? null };
}
