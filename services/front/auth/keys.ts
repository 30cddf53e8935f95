import { createHash } from 'node:crypto';
import type { Scope } from '@webcapture/shared/api/api-key.ts';
import type { PageQuery } from '@webcapture/shared/api/capture-list.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { commitBatch, Entries, type Entry } from '@webcapture/shared/nats/entries.ts';
import { isKeyPart, keysMatching, pageOf, readMany } from '@webcapture/shared/nats/read-many.ts';
import { compareAndSet } from '@webcapture/shared/nats/retry.ts';

/** A stored API key. The key in plain text is not stored. Times are Unix milliseconds. */
export interface KeyRecord {
  readonly id: string;
  readonly account: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly createdAt: number;
  readonly expiresAt?: number;
  readonly revokedAt?: number;
  /** Id of the key that created or rotated it; undefined if the operator did. */
  readonly madeBy?: string;
  /** Latest expiry of the keys that replace this one in rotations: the expiry of the key that created this one. */
  readonly notAfter?: number;
  /** Id of the key that this key replaced. */
  readonly rotatedFrom?: string;
  /** Id of the key that replaced this key. */
  readonly rotatedTo?: string;
}

/** A key's record, and the hash under which it is stored. */
export interface FoundKey extends Entry<KeyRecord> {
  readonly hash: string;
}

/** A key before and after a change. */
export interface ChangedKey {
  readonly found: FoundKey;
  readonly record: KeyRecord;
}

/**
 * API keys by the SHA-256 of the key (`key.<hash>`), and an index by account and id (`keyid.<account>.<id>`), because
 * requests that manage keys contain only their ids. Both are written in one atomic batch. Another entry lists each key
 * under the key that created it (`keychild.<account>.<maker>.<id>`).
 */
export class Keys {
  readonly #session: NatsSession;
  readonly #db: Entries;

  constructor(session: NatsSession) {
    this.#session = session;
    this.#db = new Entries(session, 'db');
  }

  async get(hash: string): Promise<Entry<KeyRecord> | null> {
    return this.#db.get<KeyRecord>(`key.${hash}`);
  }

  /** Returns those of the hashes for which a key exists. Uses one request, which any replica may answer. */
  async existing(hashes: readonly string[]): Promise<ReadonlySet<string>> {
    const found = await readMany(
      this.#session,
      'db',
      hashes.map((hash) => `key.${hash}`),
    );
    return new Set([...found.keys()].map((key) => key.slice('key.'.length)));
  }

  /** Writes a key and its index unconditionally. */
  async put(hash: string, record: KeyRecord): Promise<void> {
    await compareAndSet(async () => {
      const indexKey = keyIdOf(record);
      const [key, index] = await Promise.all([this.get(hash), this.#db.get(indexKey)]);
      await commitBatch(this.#session.nc, [
        this.#db.writing(indexKey, { hash }, index?.revision ?? 0),
        this.#db.writing(`key.${hash}`, record, key?.revision ?? 0),
      ]);
    });
  }

  /** Finds a key by id. `account` null searches all accounts. Returns null if the key does not exist. */
  async find(account: string | null, id: string): Promise<FoundKey | null> {
    if (!isKeyPart(id) || (account !== null && !isKeyPart(account))) return null;
    const [indexKey] =
      account === null ? await keysMatching(this.#session, 'db', `keyid.*.${id}`) : [`keyid.${account}.${id}`];
    const index = indexKey === undefined ? null : await this.#db.get<{ hash: string }>(indexKey);
    const found = index === null ? null : await this.get(index.value.hash);
    return index === null || found === null ? null : { ...found, hash: index.value.hash };
  }

  /**
   * Changes a key by compare-and-set; `next` returns null to leave the record unchanged. Returns null if the key does not
   * exist.
   */
  async change(
    account: string | null,
    id: string,
    next: (record: KeyRecord) => KeyRecord | null,
  ): Promise<{ readonly hash: string; readonly record: KeyRecord } | null> {
    return compareAndSet(async () => {
      const found = await this.find(account, id);
      if (found === null) return null;
      const wanted = next(found.value);
      if (wanted === null) return { hash: found.hash, record: found.value };
      await this.#db.update(`key.${found.hash}`, wanted, found.revision);
      return { hash: found.hash, record: wanted };
    });
  }

  /**
   * Writes a new key atomically with other keys that change or must stay unchanged. Throws a write conflict if one of them has changed
   * since it was read. A key that is revoked meanwhile can therefore not create another key.
   */
  async add(next: { hash: string; record: KeyRecord }, others: readonly ChangedKey[]): Promise<void> {
    const { account, id, madeBy } = next.record;
    await commitBatch(this.#session.nc, [
      ...others.map(({ found, record }) => this.#db.writing(`key.${found.hash}`, record, found.revision)),
      ...(madeBy === undefined ? [] : [this.#db.writing(`keychild.${account}.${madeBy}.${id}`, {}, 0)]),
      this.#db.writing(keyIdOf(next.record), { hash: next.hash }, 0),
      this.#db.writing(`key.${next.hash}`, next.record, 0),
    ]);
  }

  /** Returns the ids of the keys that each key of an account has created, including invalid keys. The leader of the database answers. */
  async madeByKey(account: string): Promise<ReadonlyMap<string, readonly string[]>> {
    const entries = await keysMatching(this.#session, 'db', `keychild.${account}.*.*`);
    const pairs = entries.map((entry) => entry.split('.').slice(2));
    const byMaker = Map.groupBy(pairs, ([maker = '']) => maker);
    return new Map([...byMaker].map(([maker, made]) => [maker, made.map(([, id = '']) => id)]));
  }

  /** Returns one page of an account's keys, newest first. */
  async list(account: string, page: PageQuery): Promise<{ items: readonly KeyRecord[]; nextCursor: string | null }> {
    const prefix = `keyid.${account}.`;
    const keys = await keysMatching(this.#session, 'db', `${prefix}*`);
    const { ids, nextCursor } = pageOf(
      keys.map((key) => key.slice(prefix.length)),
      page,
    );
    const indexes = await readMany<{ hash: string }>(
      this.#session,
      'db',
      ids.map((id) => prefix + id),
    );
    const hashes = ids.flatMap((id) => indexes.get(prefix + id)?.hash ?? []).map((hash) => `key.${hash}`);
    const records = await readMany<KeyRecord>(this.#session, 'db', hashes);
    return { items: hashes.flatMap((hash) => records.get(hash) ?? []), nextCursor };
  }

  /** Returns the names of an account's keys by id; ids without a key are omitted. Any replica may answer. */
  async names(account: string, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const indexes = await readMany<{ hash: string }>(
      this.#session,
      'db',
      ids.filter(isKeyPart).map((id) => `keyid.${account}.${id}`),
    );
    const records = await readMany<KeyRecord>(
      this.#session,
      'db',
      [...indexes.values()].map(({ hash }) => `key.${hash}`),
    );
    return new Map([...records.values()].map(({ id, name }) => [id, name]));
  }

  /** Whether the account has ever had a key. */
  async hasAny(account: string): Promise<boolean> {
    return (await keysMatching(this.#session, 'db', `keyid.${account}.*`)).length > 0;
  }
}

const keyIdOf = ({ account, id }: KeyRecord) => `keyid.${account}.${id}`;

/** Returns the hash under which a key is stored: SHA-256 in lower-case hex. */
export function hashKey(key: string): string {
  return createHash('sha256').update(key, 'utf8').digest('hex');
}
