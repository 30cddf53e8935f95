import { JetStreamError } from '@nats-io/jetstream';
import { nanos, TimeoutError, type NatsConnection } from '@nats-io/nats-core';
import { withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import { isNoResponders } from '@webcapture/shared/nats/api-errors.ts';
import { ConsumerMissingError } from '@webcapture/shared/nats/pull.ts';
import { pulledMessage, type PulledMessage } from '@webcapture/shared/nats/pull-inbox.ts';

/** Descriptions of the server for a pull request that returns no message. */
const status = { noMessages: 404, requestTimeout: 408, conflict: 409 } as const;

/**
 * Requests one message from a durable. With `waitMs` 0 the server answers immediately; otherwise it waits up to `waitMs`. Returns null if
 * there is no message. Uses a separate subscription, because the client's shared one would take a job for an unknown reply and drop it.
 * Throws {@link ConsumerMissingError} if the durable does not exist, or the connection's error.
 */
export async function pullOne(
  nc: NatsConnection,
  stream: string,
  durable: string,
  waitMs: number,
): Promise<PulledMessage | null> {
  const request = waitMs === 0 ? { batch: 1, no_wait: true } : { batch: 1, expires: nanos(waitMs) };
  const graceMs = 2000;
  try {
    // The request never settles if the connection closes meanwhile, so it needs a deadline.
    const reply = await withDeadline(
      nc.request(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${durable}`, JSON.stringify(request), {
        noMux: true,
        timeout: waitMs + graceMs,
      }),
      waitMs + graceMs + 500,
      'a pull request',
    );
    const code = reply.headers?.code ?? 0;
    if (code === 0) return pulledMessage(nc, reply);
    if (code === status.noMessages || code === status.requestTimeout) return null;
    if (code === status.conflict && /consumer deleted/i.test(reply.headers?.description ?? '')) {
      throw new ConsumerMissingError(`the durable ${durable} of ${stream} was removed`);
    }
    throw new JetStreamError(`pull from ${durable}: ${code} ${reply.headers?.description ?? ''}`);
  } catch (error) {
    if (error instanceof TimeoutError) return null;
    if (isNoResponders(error)) {
      throw new ConsumerMissingError(`the durable ${durable} of ${stream} does not exist`, { cause: error });
    }
    throw error;
  }
}
