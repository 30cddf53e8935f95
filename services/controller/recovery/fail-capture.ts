import type { CaptureFailure, CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import type { Captures } from '@webcapture/shared/captures/captures.ts';
import { cancelQueued, fail, isOpen, type stateOf } from '@webcapture/shared/captures/transitions.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import type { FollowUps } from '@webcapture/shared/queue/follow-ups.ts';
import type { CaptureJob, JobReply } from '@webcapture/shared/queue/job.ts';
import { encodeReply } from '@webcapture/shared/queue/encode-reply.ts';
import { isRenderFailure } from '@webcapture/shared/queue/outcomes.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import type { ControllerMetrics, FailReason } from '../health/metrics.ts';
import { duration } from '../health/verdict.ts';

/** The fields of a job that are needed to fail its capture. A job of another version has them too. */
export interface FailableJob {
  readonly account: string;
  readonly uuid: string;
  readonly revision: number;
  /** The record of an interactive capture at its acceptance. */
  readonly draft?: CaptureRecord;
  /** The signed ticket of the job. */
  readonly ticket?: string;
  readonly reply?: JobReply;
}

/** The reason to end a capture that no renderer will complete. */
export interface JobFailure {
  readonly reason: FailReason;
  readonly failure: CaptureFailure;
  /** Whether the capture fails only if no renderer has started it. */
  readonly unlessBegun: boolean;
}

/**
 * Ends the capture as failed unless it has ended already, and publishes the result to waiting fronts. If a result is being settled
 * concurrently, the compare-and-set on the record decides which of the two counts. Returns false if the capture stays open because a
 * renderer has started it. Idempotent.
 */
export type FailCapture = (job: FailableJob, failure: JobFailure) => Promise<boolean>;

export function createFailCapture(deps: {
  readonly session: NatsSession;
  readonly captures: Captures;
  readonly followUps: FollowUps;
  readonly metrics: ControllerMetrics;
  readonly log: Logger;
}): FailCapture {
  const { session, captures, followUps, metrics, log } = deps;
  return async (job, { reason, failure, unlessBegun }) => {
    const end = unlessBegun ? cancelQueued : fail;
    const { record, changed } = await captures.end(job, end(job.revision, failure));
    if (record === null) return true;
    if (isOpen(record, job.revision)) return false;
    await followUps.schedule(record);
    if (changed) {
      metrics.failed.inc({ reason });
      const { uuid, account } = job;
      log.warn({ uuid, account, region: record.region, reason }, 'settled a capture as failed');
    }
    publishReply(session, job, failure);
    return true;
  };
}

/** Publishes the reply that a renderer would publish. If the reply is lost, a waiting front finds the record, which it reads every 2 s. */
function publishReply(
  { nc }: NatsSession,
  { ticket, reply }: FailableJob,
  { code, message, cause }: JobFailure['failure'],
): void {
  if (ticket === undefined || reply === undefined || reply.wants === 'start' || !isRenderFailure(code)) return;
  const outcome = { kind: 'failed', code, message, cause } as const;
  const result = { ticket, pod: 'controller', delivery: 1, elapsedMs: 0, outcome };
  nc.publish(reply.subject, encodeReply(result, null, Number.POSITIVE_INFINITY));
}

/**
 * Decides what happens to a job that is past its start time or deadline. A capture that has started may run until its deadline. The job of
 * an ended capture is removed.
 *
 * @param status of the capture, or of the refresh that the job is for; null if there is no record
 */
export function decideOverdue(
  job: Pick<CaptureJob, 'acceptedAt' | 'startBy' | 'deadline'>,
  status: ReturnType<typeof stateOf> | null,
  now: number,
): 'remove' | JobFailure | null {
  const overdue = now > job.deadline;
  if (status === null) return overdue ? 'remove' : null;
  if (status === 'queued') {
    const waited = Math.min(job.startBy, job.deadline) - job.acceptedAt;
    const message = `No renderer took the capture within ${duration(waited)}.`;
    return {
      reason: 'not_started',
      unlessBegun: true,
      failure: { code: 'CAPTURE_TIMEOUT', message, cause: 'service' },
    };
  }
  if (status !== 'rendering') return 'remove';
  if (!overdue) return null;
  const message = `The capture did not finish within ${duration(job.deadline - job.acceptedAt)}.`;
  return { reason: 'deadline', unlessBegun: false, failure: { code: 'CAPTURE_TIMEOUT', message, cause: 'service' } };
}
