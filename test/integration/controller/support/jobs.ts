import { randomUUIDv7 } from 'node:crypto';
import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import { Captures } from '@webcapture/shared/captures/captures.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { type Priority, replySubject } from '@webcapture/shared/nats/streams.ts';
import { jobOf, type UnsignedJob } from '@webcapture/shared/queue/job.ts';
import { Jobs, type QueuedJob } from '@webcapture/shared/queue/jobs.ts';
import { Tickets } from '@webcapture/shared/queue/tickets.ts';
import type { Region } from '@webcapture/shared/runtime/regions.ts';
import { newRecord } from '../../../harness/records.ts';

export interface QueueOptions {
  readonly account?: string;
  readonly region?: Region;
  readonly priority?: Priority;
  /** Milliseconds from now; negative if the time has passed. */
  readonly startInMs?: number;
  readonly deadlineInMs?: number;
  /** A background capture without a record, as if it had been deleted. */
  readonly unrecorded?: boolean;
  /** The version of the job. */
  readonly version?: number;
}

export interface Queued {
  readonly job: UnsignedJob;
  readonly queued: QueuedJob;
  /** The accepted capture: the record of a background capture, the draft of an interactive one. */
  readonly accepted: CaptureRecord;
  record(): Promise<CaptureRecord | null>;
}

/** Queues a capture as a front does. A background capture gets a record immediately, and an interactive one when it ends. */
export async function queueCapture(session: NatsSession, options: QueueOptions = {}): Promise<Queued> {
  const { account = 'acme', region = 'us-east', priority = 'interactive', unrecorded = false } = options;
  const { startInMs = 60_000, deadlineInMs = 120_000 } = options;
  const captures = new Captures(session);
  const uuid = randomUUIDv7();
  const now = Date.now();
  const times = { acceptedAt: now - 30_000, startBy: now + startInMs, deadline: now + deadlineInMs };
  const accepted = newRecord({ uuid, account, region, priority, ...times });
  if (priority === 'background' && !unrecorded) await captures.create(accepted);
  const reply = { subject: replySubject(region, 'test', uuid), wants: 'result' } as const;
  const known = jobOf(accepted, 0, priority === 'interactive' ? { reply } : {});
  const job =
    options.version === undefined ? known : ({ ...known, version: options.version } as unknown as UnsignedJob);
  const queued = await new Jobs(session, new Tickets(session)).publish(job);
  return { job, queued, accepted, record: async () => (await captures.get(account, uuid))?.value ?? null };
}
