import type { StoredMsg } from '@nats-io/jetstream';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { readBatch } from '@webcapture/shared/nats/read-batch.ts';
import { streamNames } from '@webcapture/shared/nats/streams.ts';

/** A job may carry up to a max_payload of html. */
const maxBytes = 4 * 1024 * 1024;

/** The jobs of a subject from a sequence on, at most `batch` of them, without taking them from anybody. */
export function readJobs(session: NatsSession, subject: string, sequence: number, batch: number): Promise<StoredMsg[]> {
  const query = { seq: sequence, next_by_subj: subject, batch, max_bytes: maxBytes };
  return readBatch(session, streamNames.captures, query);
}
