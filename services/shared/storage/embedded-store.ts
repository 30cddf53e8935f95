import { createHash, randomUUID } from 'node:crypto';
import type { StoredMsg } from '@nats-io/jetstream';
import { ServiceError } from '../errors/service-error.ts';
import { isMessageMissing, isWriteConflict } from '../nats/api-errors.ts';
import { isTombstone } from '../nats/entries.ts';
import type { NatsSession } from '../nats/connect.ts';
import { retryWhileAway } from '../nats/retry.ts';
import { streamNames } from '../nats/streams.ts';
import type { ByteRange, FileStore, NewFile, StoredFile } from './file-store.ts';

/** Bytes of a part: well below the smallest max_payload, and 0.5 ms for a file of 300 KB. */
const partSize = 256 * 1024;

/** Parts read ahead of the reader. */
const readAhead = 8;

/** Parts outlive their head by this, so that a reading that has begun can end. */
const partGraceSeconds = 300;

const writeDeadlineMs = 30_000;

interface Head extends StoredFile {
  /** The parts belong to one writing of the file, and are numbered from 0. */
  readonly generation: string;
  readonly parts: number;
}

/**
 * The embedded store: files as messages of a JetStream stream, so that a laptop needs no bucket. Parts first, under a
 * generation of their own, then the head that makes them a file. The server removes what has expired.
 */
export class EmbeddedStore implements FileStore {
  readonly #session: NatsSession;

  constructor(session: NatsSession) {
    this.#session = session;
  }

  async create(file: NewFile): Promise<StoredFile> {
    try {
      return await this.#create(file);
    } catch (error) {
      throw new ServiceError('STORAGE_FAILED', undefined, { cause: error });
    }
  }

  async #create(file: NewFile): Promise<StoredFile> {
    const ttlSeconds = Math.max(1, Math.ceil((file.expiresAt - Date.now()) / 1000));
    const head: Head = {
      name: file.name,
      contentType: file.contentType,
      size: file.bytes.length,
      etag: createHash('sha256').update(file.bytes).digest('hex').slice(0, 32),
      storedAt: Date.now(),
      expiresAt: file.expiresAt,
      width: file.width,
      height: file.height,
      generation: randomUUID(),
      parts: Math.ceil(file.bytes.length / partSize),
    };
    const parts = Array.from({ length: head.parts }, (_, part) => part);
    await Promise.all(
      parts.map((part) =>
        this.#publish(
          partSubject(head, part),
          file.bytes.subarray(part * partSize, (part + 1) * partSize),
          ttlSeconds + partGraceSeconds,
        ),
      ),
    );
    try {
      await this.#publish(headSubject(file.name), JSON.stringify(head), ttlSeconds, 0);
      return head;
    } catch (error) {
      if (!isWriteConflict(error)) throw error;
      const existing = await this.stat(file.name);
      if (existing === null) throw error;
      // Either our own head, whose acknowledgement was lost, or that of another renderer of the same capture.
      if ((existing as Head).generation !== head.generation) await this.#purgeParts(head);
      return existing;
    }
  }

  async stat(name: string): Promise<StoredFile | null> {
    const message = await this.#last(headSubject(name));
    if (message === null || message.data.length === 0 || isTombstone(message.header)) return null;
    const head = message.json<Head>();
    return head.expiresAt <= Date.now() ? null : head;
  }

  async *read(file: StoredFile, range?: ByteRange): AsyncIterable<Uint8Array> {
    const head = file as Head;
    const { start, end } = range ?? { start: 0, end: head.size - 1 };
    const last = Math.floor(end / partSize);
    const pending: Promise<Uint8Array>[] = [];
    let next = Math.floor(start / partSize);
    for (let part = next; part <= last; part++) {
      for (; next <= last && next < part + readAhead; next++) {
        const reading = this.#readPart(head, next);
        // It may fail before its turn comes; it is awaited then.
        reading.catch(() => undefined);
        pending.push(reading);
      }
      const bytes = await pending.shift();
      if (bytes === undefined) return;
      const offset = part * partSize;
      yield bytes.subarray(Math.max(0, start - offset), end - offset + 1);
    }
  }

  async remove(name: string): Promise<void> {
    const head = await this.stat(name);
    await this.#session.jsm.streams.purge(streamNames.files, { filter: headSubject(name) });
    if (head !== null) await this.#purgeParts(head as Head);
  }

  async #readPart(head: Head, part: number): Promise<Uint8Array> {
    const message = await this.#last(partSubject(head, part));
    if (message === null) throw new ServiceError('STORAGE_FAILED', 'The file was removed while it was being read.');
    return message.data;
  }

  async #purgeParts(head: Head): Promise<void> {
    await this.#session.jsm.streams.purge(streamNames.files, {
      filter: `files.part.${token(head.name)}.${head.generation}.*`,
    });
  }

  /** The last message of a subject. Any replica may answer, and one that lags may not have it yet: then the leader is asked. */
  async #last(subject: string): Promise<StoredMsg | null> {
    const { jsm } = this.#session;
    const query = { last_by_subj: subject };
    const ask = async (api: { getMessage(stream: string, q: typeof query): Promise<StoredMsg | null> }) => {
      try {
        return await api.getMessage(streamNames.files, query);
      } catch (error) {
        if (isMessageMissing(error)) return null;
        throw error;
      }
    };
    try {
      return (await ask(jsm.direct)) ?? (await ask(jsm.streams));
    } catch (error) {
      throw new ServiceError('STORAGE_FAILED', undefined, { cause: error });
    }
  }

  async #publish(subject: string, data: Uint8Array | string, ttlSeconds: number, expected?: number): Promise<void> {
    await retryWhileAway(
      () =>
        this.#session.js.publish(subject, data, {
          ttl: `${ttlSeconds}s`,
          timeout: 5000,
          ...(expected === undefined ? {} : { expect: { lastSubjectSequence: expected } }),
        }),
      { deadline: Date.now() + writeDeadlineMs },
    );
  }
}

/** A file name holds one dot; in a subject it would part two tokens. */
const token = (name: string) => name.replaceAll('.', '_');
const headSubject = (name: string) => `files.head.${token(name)}`;
const partSubject = (head: Head, part: number) => `files.part.${token(head.name)}.${head.generation}.${part}`;
