import { ServiceError } from '../errors/service-error.ts';
import { DeadlineError, withDeadline } from '../lifecycle/deadline.ts';
import { delay } from '../lifecycle/delay.ts';
import { isWriteConflict } from '../nats/api-errors.ts';
import type { NatsSession } from '../nats/connect.ts';
import {
  headOf,
  headSubject,
  headsFilter,
  listedFileOf,
  newHead,
  partsFilter,
  partSize,
  partSubject,
  ttlSecondsOf,
  type Head,
} from './embedded-head.ts';
import { FileReplacedError } from './file-replaced-error.ts';
import { FileMessages } from './file-messages.ts';
import type { ByteRange, CallLimits, FilePage, FileStore, NewFile, StoredFile } from './file-store.ts';

/** Parts read ahead of the reader. */
const readAhead = 8;

/** Parts outlive their head by this, so that a reading that has begun can end. */
const partGraceSeconds = 300;

const writeDeadlineMs = 30_000;

/** A server that has a write of the same head under way tells it apart this much later. */
const undecidedDelayMs = 50;

/**
 * The embedded store: files as messages of a JetStream stream, so that a laptop needs no bucket. Parts first, under a
 * generation of their own, then the head that makes them a file. The server removes what has expired.
 */
export class EmbeddedStore implements FileStore {
  readonly #messages: FileMessages;

  constructor(session: NatsSession) {
    this.#messages = new FileMessages(session);
  }

  create(file: NewFile): Promise<StoredFile> {
    return orStorageFailed(async () => {
      const deadline = file.deadline ?? Date.now() + writeDeadlineMs;
      const head = newHead(file);
      await this.#writeParts(head, file.bytes, deadline);
      try {
        await this.#writeHead(head, 0, deadline);
        return head;
      } catch (error) {
        if (!isWriteConflict(error)) throw error;
        const existing = await this.stat(file.name);
        if (existing === null) throw error;
        // Either our own head, whose acknowledgement was lost, or that of another renderer of the same capture.
        if ((existing as Head).generation !== head.generation) await this.#dropParts(head);
        return existing;
      }
    });
  }

  replace(file: NewFile, previous: StoredFile): Promise<StoredFile | null> {
    return orStorageFailed(async () => {
      const deadline = file.deadline ?? Date.now() + writeDeadlineMs;
      const message = await this.#messages.lastOfLeader(headSubject(file.name), deadline);
      const current = headOf(message);
      if (message === null || current === null || current.generation !== (previous as Head).generation) return null;
      const head = newHead(file, current);
      await this.#writeParts(head, file.bytes, deadline);
      if (!(await this.#swapHead(head, message.seq, deadline))) {
        await this.#dropParts(head);
        return null;
      }
      // The parts of `current` stay for those who are reading them; those of the file before it have had their time.
      const { previousGeneration } = current;
      if (previousGeneration !== undefined) {
        await this.#dropParts({ name: file.name, generation: previousGeneration });
      }
      return head;
    });
  }

  stat(name: string, limits?: CallLimits): Promise<StoredFile | null> {
    return orStorageFailed(async () => headOf(await this.#messages.last(headSubject(name))), limits);
  }

  async *read(file: StoredFile, range?: ByteRange, limits?: CallLimits): AsyncIterable<Uint8Array> {
    const head = file as Head;
    const { start, end } = range ?? { start: 0, end: head.size - 1 };
    const last = Math.floor(end / partSize);
    const pending: Promise<Uint8Array>[] = [];
    let next = Math.floor(start / partSize);
    for (let part = next; part <= last; part++) {
      for (; next <= last && next < part + readAhead; next++) {
        const reading = this.#readPart(head, next, limits);
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

  remove(name: string, limits?: CallLimits): Promise<void> {
    return orStorageFailed(async () => {
      await this.#messages.purge(headSubject(name));
      // Also those of earlier files of that name, and of writings that never came to a head.
      await this.#messages.purge(partsFilter(name));
    }, limits);
  }

  /** In the order in which they were written, so that `next` is the sequence of the last head. */
  list(after: string | null, limit: number): Promise<FilePage> {
    return orStorageFailed(async () => {
      const sequence = Number(after ?? 0);
      // The cursor of another store, which was in use before: from the begin.
      const heads = await this.#messages.after(Number.isSafeInteger(sequence) ? sequence : 0, headsFilter, limit);
      const last = heads.at(-1);
      return { files: heads.map((head) => listedFileOf(head)), next: last === undefined ? null : String(last.seq) };
    });
  }

  async #writeParts(head: Head, bytes: Buffer, deadline: number): Promise<void> {
    const ttlSeconds = ttlSecondsOf(head) + partGraceSeconds;
    const parts = Array.from({ length: head.parts }, (_, part) => part);
    const writing = parts.map((part) => {
      const slice = bytes.subarray(part * partSize, (part + 1) * partSize);
      return this.#messages.publish(partSubject(head, part), slice, { ttlSeconds, deadline });
    });
    try {
      await Promise.all(writing);
    } catch (error) {
      // No head will ever name them, and a full store has room for nothing else.
      await Promise.allSettled(writing);
      await this.#dropParts(head);
      throw error;
    }
  }

  async #writeHead(head: Head, expected: number, deadline: number): Promise<void> {
    const options = { ttlSeconds: ttlSecondsOf(head), deadline, expected };
    await this.#messages.publish(headSubject(head.name), JSON.stringify(head), options);
  }

  /** Writes a head in place of the one of that sequence. False: that one is gone, and the new head will never be there. */
  async #swapHead(head: Head, expected: number, deadline: number): Promise<boolean> {
    for (;;) {
      try {
        await this.#writeHead(head, expected, deadline);
        return true;
      } catch (error) {
        if (!isWriteConflict(error)) throw error;
        const message = await this.#messages.lastOfLeader(headSubject(head.name), deadline);
        const found = headOf(message);
        // Our own, whose acknowledgement was lost; somebody may even have replaced it since.
        if (found?.generation === head.generation || found?.previousGeneration === head.generation) return true;
        if (message?.seq !== expected) return false;
        // A write is under way that is not there yet: another's, or an attempt of ours.
        if (Date.now() >= deadline) throw error;
        await delay(undecidedDelayMs);
      }
    }
  }

  async #readPart(head: Head, part: number, limits?: CallLimits): Promise<Uint8Array> {
    const message = await orStorageFailed(() => this.#messages.last(partSubject(head, part)), limits);
    if (message === null) throw new FileReplacedError();
    return message.data;
  }

  /** What stays when this fails goes with the file, or expires. */
  async #dropParts({ name, generation }: Pick<Head, 'name' | 'generation'>): Promise<void> {
    await this.#messages.purge(partsFilter(name, generation)).catch(() => undefined);
  }
}

async function orStorageFailed<T>(call: () => Promise<T>, { deadline }: CallLimits = {}): Promise<T> {
  try {
    if (deadline === undefined) return await call();
    const leftMs = deadline - Date.now();
    if (leftMs <= 0) throw new DeadlineError('what came before', 0);
    return await withDeadline(call(), leftMs, 'the store');
  } catch (error) {
    throw new ServiceError('STORAGE_FAILED', undefined, { cause: error });
  }
}
