import { createHash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Scope } from '@webcapture/shared/api/api-key.ts';
import type { PageQuery } from '@webcapture/shared/api/capture-list.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { commitBatch, Entries, type Entry } from '@webcapture/shared/nats/entries.ts';
import { isKeyPart, keysMatching, pageOf, readMany } from '@webcapture/shared/nats/read-many.ts';
import { compareAndSet } from '@webcapture/shared/nats/retry.ts';

/** A stored API key; the key itself is known only to its holder. Times are Unix milliseconds. */
export interface KeyRecord {
  readonly id: string;
  readonly account: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly createdAt: number;
  readonly expiresAt?: number;
  readonly revokedAt?: number;
  /** Id of the key that it was made or rotated with; undefined: by the operator. */
  readonly madeBy?: string;
  /** No key that it is rotated into lives longer: the end of the key that made it. */
  readonly notAfter?: number;
  /** Ids of the key whose place it took, and of the key that took its own. */
  readonly rotatedFrom?: string;
  readonly rotatedTo?: string;
}

/** A key's record and what it is kept under. */
export interface FoundKey extends Entry<KeyRecord> {
  readonly hash: string;
}

/** A key before and after a change. */
export interface ChangedKey {
  readonly found: FoundKey;
  readonly record: KeyRecord;
}

/**
 * API keys by the SHA-256 of the key (`key.<hash>`), and an index by account and id (`keyid.<account>.<id>`) that is
 * written in the same atomic batch: who looks after keys knows their ids only. Under the key that made it, each has another
 * entry (`keychild.<account>.<maker>.<id>`).
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

  /** Those of the hashes that there are keys of, in one request; any replica may answer. */
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

  /** The key of that id, of one account, or with null of any; null when there is none. */
  async find(account: string | null, id: string): Promise<FoundKey | null> {
    if (!isKeyPart(id) || (account !== null && !isKeyPart(account))) return null;
    const [indexKey] =
      account === null ? await keysMatching(this.#session, 'db', `keyid.*.${id}`) : [`keyid.${account}.${id}`];
    const index = indexKey === undefined ? null : await this.#db.get<{ hash: string }>(indexKey);
    const found = index === null ? null : await this.get(index.value.hash);
    return index === null || found === null ? null : { ...found, hash: index.value.hash };
  }

  /**
   * Changes a key by compare-and-set; `next` returns null to leave the record unchanged. Returns null when the key does
   * not exist.
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
   * Writes a new key together with other keys that change or must stay unchanged, atomically. Throws a write conflict
   * when one of them has changed since it was read, so that a key that is revoked meanwhile creates no other.
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

  /** Ids of the keys that each key of an account has made, as the leader knows them: also of those that no longer work. */
  async madeByKey(account: string): Promise<ReadonlyMap<string, readonly string[]>> {
    const entries = await keysMatching(this.#session, 'db', `keychild.${account}.*.*`);
    const pairs = entries.map((entry) => entry.split('.').slice(2));
    const byMaker = Map.groupBy(pairs, ([maker = '']) => maker);
    return new Map([...byMaker].map(([maker, made]) => [maker, made.map(([, id = '']) => id)]));
  }

  /** A part of an account's keys, newest first. */
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

  /** The names of an account's keys, by id, of those ids that there are keys of; any replica may answer. */
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

/** What a key is kept under: lower-case hex. */
export function hashKey(key: string): string {
  return createHash('sha256').update(key, 'utf8').digest('hex');
}

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/**
 * A new API key: `wc_live_`, 32 random base62 characters (190 bits), and 6 more that are the CRC-32 of those 32 in base62.
 * Scanners for leaked secrets go by the prefix and tell a mistyped key from a real one by the checksum; the service
 * itself never looks at the form of a key.
 */
export function newApiKey(): string {
  const random = Array.from({ length: 32 }, () => base62[randomInt(base62.length)]).join('');
  return `wc_live_${random}${checksum(random)}`;
}

function checksum(text: string): string {
  let rest = crc32(text);
  let digits = '';
  for (let i = 0; i < 6; i++) {
    digits = (base62[rest % 62] ?? '') + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}
