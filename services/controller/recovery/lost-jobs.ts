import { toFailure } from '@webcapture/shared/captures/capture-record.ts';
import type { Captures } from '@webcapture/shared/captures/captures.ts';
import { dispatchAfterMs, overdueAt } from '@webcapture/shared/captures/times.ts';
import { stateOf } from '@webcapture/shared/captures/transitions.ts';
import { timeOfUuid } from '@webcapture/shared/captures/uuid.ts';
import { HtmlMissingError } from '@webcapture/shared/files/stored-html.ts';
import type { FollowUps } from '@webcapture/shared/queue/follow-ups.ts';
import { jobOf } from '@webcapture/shared/queue/job.ts';
import type { Jobs } from '@webcapture/shared/queue/jobs.ts';
import type { TaskOf, Tasks } from '@webcapture/shared/queue/tasks.ts';
import { decideOverdue, type FailCapture } from './fail-capture.ts';

/** Maximum time until the record of an accepted capture is written. */
const unwrittenMs = 120_000;

const publishTimeoutMs = 10_000;

export interface RecoveryDeps {
  readonly captures: Captures;
  readonly jobs: Jobs;
  readonly tasks: Tasks;
  readonly failCapture: FailCapture;
  readonly followUps: FollowUps;
  readonly now?: () => number;
}

/**
 * Ensures that an accepted capture or refresh ends.
 * - If it has not started, its job is queued, because its front may have died before it queued the job. If the job is queued already, the
 * server drops the duplicate.
 * - If its HTML is missing, it fails. A front stores the HTML before the record, and removes it only if it has told the client that nothing
 * was accepted.
 * - If it is still open after its deadline, its job is lost and it fails, so that its reservations are released.
 */
export async function recoverLostJob(
  { account, uuid, revision }: Pick<TaskOf<'dispatch'>, 'account' | 'uuid' | 'revision'>,
  { captures, jobs, tasks, failCapture, followUps, now = Date.now }: RecoveryDeps,
): Promise<void> {
  const record = (await captures.get(account, uuid))?.value;
  const task = { kind: 'dispatch', account, uuid, revision } as const;
  if (record === undefined) {
    // The front may be about to write the record.
    const acceptedAt = timeOfUuid(uuid) ?? 0;
    if (now() - acceptedAt < unwrittenMs) await tasks.schedule(task, now() + dispatchAfterMs);
    return;
  }
  const state = stateOf(record, revision);
  if (state !== 'queued' && state !== 'rendering') return followUps.schedule(record);
  const job = jobOf(record, revision);
  const endBy = overdueAt(job.deadline);
  if (now() < endBy) {
    try {
      if (state === 'queued') await jobs.publish(job, { deadline: now() + publishTimeoutMs, copiesHtml: true });
    } catch (error) {
      if (!(error instanceof HtmlMissingError)) throw error;
      await failCapture(
        { account, uuid, revision },
        { reason: 'html_missing', failure: toFailure(error), unlessBegun: true },
      );
      return;
    }
    await tasks.schedule(task, endBy);
    return;
  }
  const due = decideOverdue(job, state, now());
  if (due === null || due === 'remove') return;
  await failCapture({ account, uuid, revision }, { ...due, unlessBegun: false });
}
