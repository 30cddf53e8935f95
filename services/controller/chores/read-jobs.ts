import type { StoredMsg } from '@nats-io/jetstream';
import { withDeadline } from '@webcapture/shared/lifecycle/deadline.ts';
import { isMessageMissing } from '@webcapture/shared/nats/api-errors.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { streamNames } from '@webcapture/shared/nats/streams.ts';

const limitMs = 5000;

/** A job may carry up to a max_payload of html. */
const maxBytes = 4 * 1024 * 1024;

/** The jobs of a subject from a sequence on, at most `batch` of them, without taking them from anybody. */
export async function readJobs(
  session: NatsSession,
  subject: string,
  sequence: number,
  batch: number,
): Promise<StoredMsg[]> {
  const query = { seq: sequence, next_by_subj: subject, batch, max_bytes: maxBytes };
  const messages = await session.jsm.direct.getBatch(streamNames.captures, query);
  const read: StoredMsg[] = [];
  const readAll = async () => {
    for await (const message of messages) read.push(message);
  };
  try {
    await withDeadline(readAll(), limitMs, 'reading queued jobs');
  } catch (error) {
    if (!isMessageMissing(error)) throw error;
  } finally {
    messages.stop();
  }
  return read;
}
