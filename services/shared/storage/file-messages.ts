import type { StoredMsg } from '@nats-io/jetstream';
import { isMessageMissing } from '../nats/api-errors.ts';
import type { NatsSession } from '../nats/connect.ts';
import { isTombstone } from '../nats/entries.ts';
import { readBatch } from '../nats/read-batch.ts';
import { retryWhileAway } from '../nats/retry.ts';
import { streamNames } from '../nats/streams.ts';

interface MessageReader {
  getMessage(stream: string, query: { last_by_subj: string }): Promise<StoredMsg | null>;
}

/** The messages of the stream of files, by subject. Errors are those of the client. */
export class FileMessages {
  readonly #session: NatsSession;

  constructor(session: NatsSession) {
    this.#session = session;
  }

  /** The last message of a subject. Any replica may answer, and one that lags may not have it yet: then the leader is asked. */
  async last(subject: string): Promise<StoredMsg | null> {
    const { direct, streams } = this.#session.jsm;
    return (await this.#ask(direct, subject)) ?? (await this.#ask(streams, subject));
  }

  /**
   * The last message of a subject as the leader has it: what a compare-and-set will be held against. Asks again and
   * again while the server is away, until `deadline` (Unix ms).
   */
  lastOfLeader(subject: string, deadline: number): Promise<StoredMsg | null> {
    return retryWhileAway(() => this.#ask(this.#session.jsm.streams, subject), { deadline });
  }

  /**
   * Publishes, again and again while the server is away, until `deadline` (Unix ms). `expected` is the sequence that the subject's last message
   * must have, 0 for none; a write conflict may come of an earlier attempt of this very call.
   */
  async publish(
    subject: string,
    data: Uint8Array | string,
    options: { ttlSeconds: number; deadline: number; expected?: number },
  ): Promise<void> {
    const { ttlSeconds, deadline, expected } = options;
    const fields = {
      ttl: `${ttlSeconds}s`,
      timeout: 5000,
      ...(expected === undefined ? {} : { expect: { lastSubjectSequence: expected } }),
    };
    await retryWhileAway(() => this.#session.js.publish(subject, data, fields), { deadline });
  }

  /**
   * The messages of the subjects that match a filter, written after that stream sequence, in their order: at most so
   * many, and none when there are no more. Any replica may answer, perhaps without the newest.
   */
  after(sequence: number, filter: string, most: number): Promise<StoredMsg[]> {
    return readBatch(this.#session, streamNames.files, { seq: sequence + 1, next_by_subj: filter, batch: most });
  }

  async purge(filter: string): Promise<void> {
    await this.#session.jsm.streams.purge(streamNames.files, { filter });
  }

  async #ask(reader: MessageReader, subject: string): Promise<StoredMsg | null> {
    try {
      const message = await reader.getMessage(streamNames.files, { last_by_subj: subject });
      return message === null || isTombstone(message.header) ? null : message;
    } catch (error) {
      if (isMessageMissing(error)) return null;
      throw error;
    }
  }
}
