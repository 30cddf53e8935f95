import type { StoredMsg } from '@nats-io/jetstream';
import { isMessageMissing } from './api-errors.ts';

/** Reads messages: `jsm.streams` from the leader of the stream, `jsm.direct` from any replica, which may be behind. */
export interface MessageReader<Query> {
  getMessage(stream: string, query: Query): Promise<StoredMsg | null>;
}

/** Returns a message of a stream, or null if there is none. Throws other errors of the server. */
export async function getMessage<Query>(
  reader: MessageReader<Query>,
  stream: string,
  query: Query,
): Promise<StoredMsg | null> {
  try {
    return await reader.getMessage(stream, query);
  } catch (error) {
    if (isMessageMissing(error)) return null;
    throw error;
  }
}
