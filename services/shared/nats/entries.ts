import type { StoredMsg } from '@nats-io/jetstream';
import { headers, type MsgHdrs } from '@nats-io/nats-core';
import type { NatsSession } from './connect.ts';
import { isMessageMissing, isWriteConflict } from './api-errors.ts';

/** A value with the stream sequence that a compare-and-set must name. */
export interface Entry<T> {
  readonly value: T;
  readonly revision: number;
}

/**
 * JSON values in a key-value bucket. The client's own KV can neither write a TTL with a put or an update nor read from
 * the leader, hence this.
 */
export class Entries {
  readonly #session: NatsSession;
  readonly #bucket: string;

  constructor(session: NatsSession, bucket: string) {
    this.#session = session;
    this.#bucket = bucket;
  }

  subject(key: string): string {
    return `$KV.${this.#bucket}.${key}`;
  }

  /** The value as the leader knows it, or null. */
  async get<T>(key: string): Promise<Entry<T> | null> {
    const message = await this.#last(key);
    if (message === null || isTombstone(message.header)) return null;
    return { value: message.json<T>(), revision: message.seq };
  }

  /** Writes whatever was there before. Returns the new revision. */
  put(key: string, value: unknown, options: { ttlSeconds?: number } = {}): Promise<number> {
    return this.#write(key, value, undefined, options.ttlSeconds);
  }

  /** Writes only when nobody wrote since `revision` (0: the key must be new); else throws a write conflict. */
  update(key: string, value: unknown, revision: number, options: { ttlSeconds?: number } = {}): Promise<number> {
    return this.#write(key, value, revision, options.ttlSeconds);
  }

  /** Writes a key that is not there; a deleted or expired one counts as not there. Else throws a write conflict. */
  async create(key: string, value: unknown, options: { ttlSeconds?: number } = {}): Promise<number> {
    try {
      return await this.#write(key, value, 0, options.ttlSeconds);
    } catch (error) {
      const tombstone = isWriteConflict(error) ? await this.#tombstoneRevision(key) : null;
      if (tombstone === null) throw error;
      return this.#write(key, value, tombstone, options.ttlSeconds);
    }
  }

  /** Removes the value, whatever it is; watchers hear of it. With `revision`, only when nobody wrote since. */
  async delete(key: string, revision?: number): Promise<void> {
    const fields = headers();
    fields.set('KV-Operation', 'PURGE');
    fields.set('Nats-Rollup', 'sub');
    // The marker itself goes after a while, or deleted keys would pile up.
    fields.set('Nats-TTL', '60s');
    await this.#publish(key, '', fields, revision);
  }

  async #tombstoneRevision(key: string): Promise<number | null> {
    const message = await this.#last(key);
    return message !== null && isTombstone(message.header) ? message.seq : null;
  }

  async #last(key: string): Promise<StoredMsg | null> {
    try {
      return await this.#session.jsm.streams.getMessage(`KV_${this.#bucket}`, { last_by_subj: this.subject(key) });
    } catch (error) {
      if (isMessageMissing(error)) return null;
      throw error;
    }
  }

  #write(key: string, value: unknown, revision: number | undefined, ttlSeconds: number | undefined): Promise<number> {
    const fields = headers();
    if (ttlSeconds !== undefined) fields.set('Nats-TTL', `${ttlSeconds}s`);
    return this.#publish(key, JSON.stringify(value), fields, revision);
  }

  async #publish(key: string, data: string, fields: MsgHdrs, revision: number | undefined): Promise<number> {
    const ack = await this.#session.js.publish(this.subject(key), data, {
      headers: fields,
      ...(revision === undefined ? {} : { expect: { lastSubjectSequence: revision } }),
    });
    return ack.seq;
  }
}

/** Whether a stored message says that the key is gone: deleted, purged, or expired by its TTL. */
export function isTombstone(fields: MsgHdrs | undefined): boolean {
  if (fields === undefined) return false;
  return ['DEL', 'PURGE'].includes(fields.get('KV-Operation')) || fields.has('Nats-Marker-Reason');
}
