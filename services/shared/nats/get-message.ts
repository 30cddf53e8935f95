import type { StoredMsg } from '@nats-io/jetstream';
import { isMessageMissing } from './api-errors.ts';

/** `jsm.streams`: as the leader of the stream has it. `jsm.direct`: as any replica has it, which may lag. */
export interface MessageReader<Query> {
  getMessage(stream: string, query: Query): Promise<StoredMsg | null>;
}

/** A message of a stream; null when there is none. Throws what the server answers else. */
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
