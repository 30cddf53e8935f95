import type { Captures } from '@webcapture/shared/state/captures.ts';
import { jobOf } from '@webcapture/shared/state/job-of.ts';
import type { Jobs } from '@webcapture/shared/state/jobs.ts';
import { stateOf } from '@webcapture/shared/state/transitions.ts';
import type { TaskOf } from './run-tasks.ts';

/**
 * Queues the job of a capture, or refresh, that was accepted and has not begun: its front may have died before it could.
 * A job that lies there already is not queued twice.
 */
export async function dispatchJob(
  { account, uuid, revision }: Pick<TaskOf<'dispatch'>, 'account' | 'uuid' | 'revision'>,
  { captures, jobs }: { readonly captures: Pick<Captures, 'get'>; readonly jobs: Pick<Jobs, 'publish'> },
): Promise<void> {
  const record = (await captures.get(account, uuid))?.value;
  if (record === undefined || stateOf(record, revision) !== 'queued') return;
  await jobs.publish(jobOf(record, revision));
}
