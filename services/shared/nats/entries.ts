import { randomUUID } from 'node:crypto';
import { type ApiError, JetStreamApiError, type StoredMsg } from '@nats-io/jetstream';
import { headers, type MsgHdrs, type NatsConnection } from '@nats-io/nats-core';
import { isWriteConflict } from './api-errors.ts';
import type { NatsSession } from './connect.ts';
import { getMessage } from './get-message.ts';
import { bucketStream, keySubject, prefixed } from './streams.ts';
import { type CallLimits, compareAndSet } from './retry.ts';

/** A value with the stream sequence for a compare-and-set. */
export interface Entry<T> {
  readonly value: T;
  readonly revision: number;
  /** The {@link WriteOptions.writeId} of the write that stored the value. */
  readonly writeId?: string;
}

export interface WriteOptions {
  readonly ttlSeconds?: number;
  /** Identifies the write to readers of the value. A writer that got no answer can recognize its own write. */
  readonly writeId?: string;
}

/** Message header with the id of a write. */
const writeIdHeader = 'Webcapture-Write-Id';

/**
 * How a value is read. `from-leader`: from the leader. `by-subject`: from any replica, with a request whose subject contains the key; the
 * server can then permit a user to read only some keys. A replica may return an old value, or none although there is one.
 */
export type Reading = 'from-leader' | 'by-subject';

/**
 * JSON values in a key-value bucket. The client's KV cannot write a TTL with a put or an update, and cannot read from the
 * leader.
 */
export class Entries {
  readonly #session: NatsSession;
  readonly #bucket: string;
  readonly #reading: Reading;

  constructor(session: NatsSession, bucket: string, reading: Reading = 'from-leader') {
    this.#session = session;
    this.#bucket = bucket;
    this.#reading = reading;
  }

  /** Returns the subject under which the value is stored. */
  subject(key: string): string {
    return keySubject(this.#bucket, key);
  }

  /** Returns a write for {@link commitBatch}. `expectedSequence` as in {@link BatchWrite}. */
  writing(key: string, value: unknown, expectedSequence: number): BatchWrite {
    return { subject: this.subject(key), data: JSON.stringify(value), expectedSequence };
  }

  /** Returns the value; null if there is none. */
  async get<T>(key: string): Promise<Entry<T> | null> {
    const message = await this.#last(key);
    if (message === null || isTombstone(message.header)) return null;
    const writeId = message.header.get(writeIdHeader);
    return { value: message.json<T>(), revision: message.seq, ...(writeId !== '' && { writeId }) };
  }

  /** Writes unconditionally. Returns the new revision. */
  put(key: string, value: unknown, options: WriteOptions = {}): Promise<number> {
    return this.#write(key, value, undefined, options);
  }

  /** Writes only if the key has not been written since `revision` (0: if the key does not exist). Otherwise throws a write conflict. */
  update(key: string, value: unknown, revision: number, options: WriteOptions = {}): Promise<number> {
    return this.#write(key, value, revision, options);
  }

  /** Creates a key. Throws a write conflict if it exists. A deleted or expired key counts as missing. */
  async create(key: string, value: unknown, options: WriteOptions = {}): Promise<number> {
    try {
      return await this.#write(key, value, 0, options);
    } catch (error) {
      const tombstone = isWriteConflict(error) ? await this.#tombstoneRevision(key) : null;
      if (tombstone === null) throw error;
      return this.#write(key, value, tombstone, options);
    }
  }

  /** Deletes the value and notifies watchers. With `revision`, deletes it only if the key has not been written since. */
  async delete(key: string, revision?: number): Promise<void> {
    const fields = headers();
    // A subject keeps one message, so the marker replaces the value. A roll-up would do the same. But if a stream allows roll-ups, a user
    // who may write one key can remove all others (`Nats-Rollup: all`).
    fields.set('KV-Operation', 'DEL');
    // The marker expires, so that deleted keys do not pile up.
    fields.set('Nats-TTL', '60s');
    await this.#publish(key, '', fields, revision);
  }

  async #tombstoneRevision(key: string): Promise<number | null> {
    const message = await this.#last(key);
    return message !== null && isTombstone(message.header) ? message.seq : null;
  }

  #last(key: string): Promise<StoredMsg | null> {
    const { direct, streams } = this.#session.jsm;
    const query = { last_by_subj: this.subject(key) };
    return getMessage(this.#reading === 'by-subject' ? direct : streams, bucketStream(this.#bucket), query);
  }

  #write(key: string, value: unknown, revision: number | undefined, options: WriteOptions): Promise<number> {
    const fields = headers();
    setOptions(fields, options);
    return this.#publish(key, JSON.stringify(value), fields, revision);
  }

  async #publish(key: string, data: string, fields: MsgHdrs, revision: number | undefined): Promise<number> {
    const ack = await this.#session.js.publish(`${this.#session.kvPrefix}.${prefixed(this.#bucket)}.${key}`, data, {
      headers: fields,
      ...(revision === undefined ? {} : { expect: { lastSubjectSequence: revision } }),
    });
    return ack.seq;
  }
}

function setOptions(fields: MsgHdrs, { ttlSeconds, writeId }: WriteOptions): void {
  if (ttlSeconds !== undefined) fields.set('Nats-TTL', `${ttlSeconds}s`);
  if (writeId !== undefined) fields.set(writeIdHeader, writeId);
}

/** Whether a stored message marks the key as deleted, purged, or expired. */
export function isTombstone(fields: MsgHdrs | undefined): boolean {
  if (fields === undefined) return false;
  return ['DEL', 'PURGE'].includes(fields.get('KV-Operation')) || fields.has('Nats-Marker-Reason');
}

/** One write of a batch. */
export interface BatchWrite extends WriteOptions {
  readonly subject: string;
  readonly data: string;
  /** Sequence of the last message of the subject; 0 if there must be none. */
  readonly expectedSequence: number;
}

/**
 * Writes all values or none, each only if its subject has not been written since `expectedSequence`. All subjects must belong to one stream
 * with `allow_atomic`. Returns the stream sequence of the last write. Throws a JetStreamApiError that `isWriteConflict` recognizes if
 * another client was first.
 *
 * Every part is published separately, and only the last one as a request: the client's own batch drops the expectations and hides the
 * server's error. A batch that timed out may have been committed, so read before a retry.
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
    setOptions(fields, write);
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

/**
 * Changes the value of a key by compare-and-set until it succeeds. `next` maps the current value (null: there is none) to the new one. If
 * it returns the same object, the value stays; if it returns null, the value is deleted. Returns the resulting value.
 *
 * @param ttlSeconds time to live of a written value; if undefined, it does not expire
 */
export function changeEntry<T extends object, Next extends T | null>(
  entries: Entries,
  key: string,
  next: (value: T | null) => Next,
  ttlSeconds: (value: T) => number | undefined = () => undefined,
  limits?: CallLimits,
): Promise<Next> {
  return compareAndSet(async () => {
    const found = await entries.get<T>(key);
    const value = found?.value ?? null;
    const wanted = next(value);
    if (wanted === value) return wanted;
    if (wanted === null) {
      await entries.delete(key, found?.revision);
      return wanted;
    }
    const ttl = ttlSeconds(wanted);
    const options = ttl === undefined ? {} : { ttlSeconds: ttl };
    if (found === null) await entries.create(key, wanted, options);
    else await entries.update(key, wanted, found.revision, options);
    return wanted;
  }, limits);
}
