import { randomUUID } from 'node:crypto';
import { JetStreamApiError, type ApiError } from '@nats-io/jetstream';
import { headers, type NatsConnection } from '@nats-io/nats-core';

/** One write of a batch. */
export interface BatchWrite {
  readonly subject: string;
  readonly data: string;
  /** The sequence of the last message of the subject; 0 when there must be none. */
  readonly expectedSequence: number;
  readonly ttlSeconds?: number;
}

/**
 * Writes all or none, each only if its subject has not been written since `expectedSequence`. All subjects must belong
 * to one stream with `allow_atomic`. Returns the stream sequence of the last write; throws a JetStreamApiError, for
 * which `isWriteConflict` tells that somebody else was first.
 *
 * Every part is published by itself and only the last one as a request: the client's own batch drops the expectations
 * and hides the server's error. A batch that timed out may have been committed: read before trying again.
 */
export async function commitBatch(
  nc: NatsConnection,
  writes: readonly BatchWrite[],
  timeoutMs = 5000,
): Promise<number> {
  const id = randomUUID();
  const last = writes.length - 1;
  for (const [index, write] of writes.entries()) {
    const fields = headers();
    fields.set('Nats-Batch-Id', id);
    fields.set('Nats-Batch-Sequence', String(index + 1));
    fields.set('Nats-Expected-Last-Subject-Sequence', String(write.expectedSequence));
    if (write.ttlSeconds !== undefined) fields.set('Nats-TTL', `${write.ttlSeconds}s`);
    if (index < last) {
      nc.publish(write.subject, write.data, { headers: fields });
      continue;
    }
    fields.set('Nats-Batch-Commit', '1');
    const reply = await nc.request(write.subject, write.data, { headers: fields, timeout: timeoutMs });
    const answer = reply.json<{ error?: ApiError; seq?: number }>();
    if (answer.error !== undefined) throw new JetStreamApiError(answer.error);
    return answer.seq ?? 0;
  }
  throw new RangeError('a batch needs at least one write');
}
