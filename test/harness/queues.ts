import type { CaptureJob } from '@webcapture/shared/queue/job.ts';
import { isMessageMissing } from '@webcapture/shared/nats/api-errors.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { readBatch } from '@webcapture/shared/nats/read-many.ts';
import { laterSubject, streamNames, type TaskKind } from '@webcapture/shared/nats/streams.ts';
import type { CaptureRef } from '@webcapture/shared/captures/captures.ts';
import { parseExpiry } from '@webcapture/shared/captures/expiry-index.ts';

/** Returns the time of a scheduled task, Unix ms rounded down to seconds; null if none is scheduled. */
export async function taskDueAt(
  session: NatsSession,
  kind: TaskKind,
  { account, uuid }: CaptureRef,
  revision = 0,
): Promise<number | null> {
  const subject = laterSubject(kind, `${account}.${uuid}.${revision}`);
  try {
    const message = await session.jsm.streams.getMessage(streamNames.tasks, { last_by_subj: subject });
    return message === null ? null : Date.parse(message.header.get('Nats-Schedule').replace('@at ', ''));
  } catch (error) {
    if (isMessageMissing(error)) return null;
    throw error;
  }
}

/** Returns the times at which the leader will check whether a capture has expired, Unix ms. */
export async function expiriesOf(session: NatsSession, uuid: string): Promise<number[]> {
  const messages = await readBatch(session, streamNames.expiry, { seq: 1, next_by_subj: 'expiry.>', batch: 10_000 });
  const entries = messages.flatMap(({ data }) => parseExpiry(data) ?? []);
  return entries.filter((entry) => entry.uuid === uuid).map(({ expiresAt }) => expiresAt);
}

/** Returns all jobs in the queue, in order. */
export async function queuedJobs(session: NatsSession): Promise<CaptureJob[]> {
  const { state } = await session.jsm.streams.info(streamNames.captures);
  const jobs: CaptureJob[] = [];
  for (let seq = state.first_seq; seq <= state.last_seq && state.messages > 0; seq++) {
    try {
      const message = await session.jsm.streams.getMessage(streamNames.captures, { seq });
      if (message !== null) jobs.push(message.json<CaptureJob>());
    } catch (error) {
      if (!isMessageMissing(error)) throw error;
    }
  }
  return jobs;
}
