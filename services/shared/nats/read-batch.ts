import type { CompletionResult, DirectBatchOptions, DirectLastFor, StoredMsg } from '@nats-io/jetstream';
import { withDeadline } from '../lifecycle/deadline.ts';
import { isMessageMissing } from './api-errors.ts';
import type { NatsSession } from './connect.ts';

/** A server that goes away in the midst of its answer would be waited for without end. */
const limitMs = 15_000;

/**
 * The messages that a stream has for a query, in one request; none when there is none. Any replica may answer, perhaps
 * without the newest. With a callback, for the client gives up its subscription then alone: each call else would leave
 * one behind, here and on the server.
 */
export async function readBatch(
  { jsm }: Pick<NatsSession, 'jsm'>,
  stream: string,
  query: DirectBatchOptions | DirectLastFor,
): Promise<StoredMsg[]> {
  const found: StoredMsg[] = [];
  const { promise: ended, resolve, reject } = Promise.withResolvers<void>();
  const callback = (done: CompletionResult | null, message: StoredMsg) => {
    if (done === null) found.push(message);
    else if (done.err === undefined) resolve();
    else reject(done.err);
  };
  const asked = { ...query, callback };
  const { direct } = jsm;
  const reading = await ('multi_last' in asked
    ? direct.getLastMessagesFor(stream, asked)
    : direct.getBatch(stream, asked));
  try {
    await withDeadline(ended, limitMs, `reading messages of ${stream}`);
    return found;
  } catch (error) {
    if (isMessageMissing(error)) return [];
    throw error;
  } finally {
    reading.stop();
  }
}
