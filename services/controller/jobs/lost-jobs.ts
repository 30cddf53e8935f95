import { toFailure } from '@webcapture/shared/captures/failure.ts';
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

/** The record of a capture that is accepted is written within this. */
const unwrittenMs = 120_000;

const publishTimeoutMs = 10_000;

export interface RecoveryDeps {
  readonly captures: Pick<Captures, 'get'>;
  readonly jobs: Pick<Jobs, 'publish'>;
  readonly tasks: Pick<Tasks, 'schedule'>;
  readonly failCapture: FailCapture;
  readonly followUps: Pick<FollowUps, 'arrange'>;
  readonly now?: () => number;
}

/**
 * Makes sure that an accepted capture, or refresh, ends. One that has not begun gets its job: its front may have died
 * before it could queue it; within minutes, a job that lies there already is not queued twice. One whose html is gone fails: its front put it
 * there before it wrote the record, and took it away because its client was told that nothing was accepted. One that is
 * still open when all its time has passed has lost its job, and fails: what it has set aside would never be given back else.
 */
export async function recoverLostJob(
  { account, uuid, revision }: Pick<TaskOf<'dispatch'>, 'account' | 'uuid' | 'revision'>,
  { captures, jobs, tasks, failCapture, followUps, now = Date.now }: RecoveryDeps,
): Promise<void> {
  const record = (await captures.get(account, uuid))?.value;
  const task = { kind: 'dispatch', account, uuid, revision } as const;
  if (record === undefined) {
    // Its front may be about to write it.
    const acceptedAt = timeOfUuid(uuid) ?? 0;
    if (now() - acceptedAt < unwrittenMs) await tasks.schedule(task, now() + dispatchAfterMs);
    return;
  }
  const state = stateOf(record, revision);
  if (state !== 'queued' && state !== 'rendering') return followUps.arrange(record);
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
