import { randomUUID } from 'node:crypto';
import type { StoredMsg } from '@nats-io/jetstream';
import { backoffMs, DeadlineError, delay } from '../runtime/deadline.ts';
import { isSubjectTaken, isWriteConflict } from '../nats/api-errors.ts';
import type { NatsSession } from '../nats/connect.ts';
import { isTombstone } from '../nats/entries.ts';
import { getMessage, type MessageReader } from '../nats/get-message.ts';
import { readBatch } from '../nats/read-many.ts';
import { retryTransient } from '../nats/retry.ts';
import { streamNames } from '../nats/streams.ts';

/** Bytes of a part: well below the smallest max_payload, and 0.5 ms for a file of 300 KB. */
export const partSize = 256 * 1024;

/** The messages of the stream of files, by subject. Each is written once and never changed. Errors are those of the client. */
export class FileMessages {
  readonly #session: NatsSession;

  constructor(session: NatsSession) {
    this.#session = session;
  }

  /**
   * The last message of the subjects that match a filter. Any replica may answer, and one that lags may not have it yet:
   * then the leader is asked.
   */
  async last(filter: string): Promise<StoredMsg | null> {
    const { direct, streams } = this.#session.jsm;
    return (await this.#ask(direct, filter)) ?? (await this.#ask(streams, filter));
  }

  /**
   * The same as the leader has it: what a compare-and-set will be held against. Asks again and again while the server is
   * away, until `deadline` (Unix ms).
   */
  lastOfLeader(filter: string, deadline: number): Promise<StoredMsg | null> {
    return retryTransient(() => this.#ask(this.#session.jsm.streams, filter), { deadline });
  }

  /**
   * Publishes under a subject that nobody else uses, again and again while the server is away, until `deadline` (Unix
   * ms). `timeout`: of one attempt.
   *
   * In a cluster the server calls a subject taken as soon as a message for it has been proposed, even if no majority ever
   * stores it. Of the attempts of this call the message id tells: one that is stored is acknowledged once more. When others
   * may publish the same (`isShared`), the leader is asked, which takes the right to read.
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
          throw new DeadlineError(`storing ${subject} by somebody else`, timeout);
        }
      }
    };
    await retryTransient(attempt, { deadline, attemptTimeoutMs });
  }

  /** Publishes bytes in parts of {@link partSize}, each as {@link create} does; they are on their way when the call returns. */
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
   * Publishes when the last message of the subjects that match `filter` still is that of the sequence `expected` (0: when
   * there is none). Returns the sequence; null when that is not so, or when an earlier attempt of this very call has
   * arrived. Makes attempts while the server is away, until `deadline` (Unix ms).
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

  /**
   * The messages of the subjects that match a filter, written after that stream sequence, in their order: at most so
   * many, and none when there are no more. Any replica may answer, perhaps without the newest.
   */
  after(sequence: number, filter: string, limit: number): Promise<StoredMsg[]> {
    return readBatch(this.#session, streamNames.files, { seq: sequence + 1, next_by_subj: filter, batch: limit });
  }

  /** @param before the sequence of the first message that stays; by default none does */
  async purge(filter: string, before?: number): Promise<void> {
    const options = before === undefined ? { filter } : { filter, seq: before };
    await this.#session.jsm.streams.purge(streamNames.files, options);
  }

  async #ask(reader: MessageReader<{ last_by_subj: string }>, filter: string): Promise<StoredMsg | null> {
    const message = await getMessage(reader, streamNames.files, { last_by_subj: filter });
    return message === null || isTombstone(message.header) ? null : message;
  }
}

/** A process that stood still may be past the time of the first look already. */
const minLooks = 5;

/**
 * The message that `read` finds: asked for again and again while there is none, until `missingUntil` and a few times at least,
 * and while the server is away, each time until `deadline` (both Unix ms). Null: there is none.
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
