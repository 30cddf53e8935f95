import { randomUUID } from 'node:crypto';
import type { StoredMsg } from '@nats-io/jetstream';
import { backoffMs, DeadlineError, delay } from '../runtime/deadline.ts';
import { isSubjectTaken, isWriteConflict } from '../nats/api-errors.ts';
import type { NatsSession } from '../nats/connect.ts';
import { isTombstone } from '../nats/entries.ts';
import { getMessage, type MessageReader } from '../nats/get-message.ts';
import { retryTransient } from '../nats/retry.ts';
import { streamNames } from '../nats/streams.ts';

/** Size of a part. It is well below the minimum max_payload. A file of 300 KB takes 0.5 ms. */
export const partSize = 256 * 1024;

/** The messages of the stream of files, by subject. Each message is written once and never changed. Throws the errors of NATS. */
export class FileMessages {
  readonly #session: NatsSession;

  constructor(session: NatsSession) {
    this.#session = session;
  }

  /**
   * Returns the last message of the subjects that match a filter. Any replica may answer. If that replica has no message, the leader is
   * asked, because the replica may be behind.
   */
  async last(filter: string): Promise<StoredMsg | null> {
    const { direct, streams } = this.#session.jsm;
    return (await this.#ask(direct, filter)) ?? (await this.#ask(streams, filter));
  }

  /**
   * Reads the last message from the leader, for use in a compare-and-set. Retries while the server is unavailable,
   * until `deadline` (Unix ms).
   */
  lastOfLeader(filter: string, deadline: number): Promise<StoredMsg | null> {
    return retryTransient(() => this.#ask(this.#session.jsm.streams, filter), { deadline });
  }

  /**
   * Publishes under an exclusive subject. Retries while the server is unavailable, until `deadline` (Unix ms). `timeout` limits one
   * attempt.
   *
   * In a cluster, the server reports a subject as taken when a message for it is proposed, even if no majority ever stores it. The message
   * id identifies attempts of this call: if an attempt was stored, it is acknowledged again. If others may publish the same (`isShared`),
   * the leader is read, which needs the right to read.
   */
  async create(
    subject: string,
    data: Uint8Array | string,
    {
      ttlSeconds,
      deadline,
      timeout: attemptTimeoutMs = 5000,
      isShared = false,
    }: { ttlSeconds: number; deadline: number; timeout?: number; isShared?: boolean },
  ): Promise<void> {
    const options = { ttl: `${ttlSeconds}s`, msgID: randomUUID() };
    const attempt = async (timeout: number) => {
      try {
        await this.#session.js.publish(subject, data, { ...options, timeout });
      } catch (error) {
        if (!isSubjectTaken(error)) throw error;
        if (isShared && (await this.#ask(this.#session.jsm.streams, subject)) === null) {
          throw new DeadlineError(`waiting until another process has stored ${subject}`, timeout);
        }
      }
    };
    await retryTransient(attempt, { deadline, attemptTimeoutMs });
  }

  /** Publishes bytes in parts of {@link partSize}, as {@link create} does. All messages are sent when the call returns. */
  async createParts(
    subjectOf: (part: number) => string,
    bytes: Buffer,
    limits: Parameters<FileMessages['create']>[2],
  ): Promise<void> {
    const writing: Promise<void>[] = [];
    for (let part = 0; part * partSize < bytes.length; part++) {
      writing.push(this.create(subjectOf(part), bytes.subarray(part * partSize, (part + 1) * partSize), limits));
    }
    await Promise.all(writing);
  }

  /**
   * Publishes if the last message of the subjects that match `filter` still has the sequence `expected` (0: no message). Returns the
   * sequence. Returns null if the last message differs, even if an earlier attempt of this call has written it. Retries while the server is
   * unavailable, until `deadline` (Unix ms).
   */
  swap(
    subject: string,
    data: string,
    options: { ttlSeconds: number; deadline: number; filter: string; expected: number },
  ): Promise<number | null> {
    const { ttlSeconds, deadline, filter, expected } = options;
    const fields = {
      ttl: `${ttlSeconds}s`,
      expect: { lastSubjectSequence: expected, lastSubjectSequenceSubject: filter },
    };
    const attempt = async (timeout: number) => {
      try {
        return (await this.#session.js.publish(subject, data, { ...fields, timeout })).seq;
      } catch (error) {
        if (isSubjectTaken(error) || isWriteConflict(error)) return null;
        throw error;
      }
    };
    return retryTransient(attempt, { deadline, attemptTimeoutMs: 5000 });
  }

  /** @param before sequence of the first message that stays; by default, none stays */
  async purge(filter: string, before?: number): Promise<void> {
    const options = before === undefined ? { filter } : { filter, seq: before };
    await this.#session.jsm.streams.purge(streamNames.files, options);
  }

  async #ask(reader: MessageReader<{ last_by_subj: string }>, filter: string): Promise<StoredMsg | null> {
    const message = await getMessage(reader, streamNames.files, { last_by_subj: filter });
    return message === null || isTombstone(message.header) ? null : message;
  }
}

/** Minimum number of reads. It is needed because the time limit of a paused process may have passed before its first read. */
const minLooks = 5;

/**
 * Returns the message that `read` finds. While there is no message, repeats the read until `missingUntil`, but at least a few times. While
 * the server is unavailable, repeats the read until `deadline` (both times are Unix ms). Returns null if there is no message.
 */
export async function untilFound(
  read: () => Promise<StoredMsg | null>,
  { missingUntil, deadline }: { readonly missingUntil: number; readonly deadline: number },
): Promise<StoredMsg | null> {
  for (let attempt = 1; ; attempt++) {
    const message = await retryTransient(read, { deadline });
    if (message !== null || (attempt >= minLooks && Date.now() >= missingUntil)) return message;
    await delay(backoffMs(attempt, 20, 400));
  }
}
