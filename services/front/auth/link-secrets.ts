import { randomBytes } from 'node:crypto';
import { type RotatedSecret, rotateSecret } from '@webcapture/shared/accounts/rotated-secret.ts';
import { changeEntry, commitBatch, Entries, type Entry } from '@webcapture/shared/nats/entries.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { keysMatching, readMany } from '@webcapture/shared/nats/read-many.ts';
import type { FoundKey } from './keys.ts';

/** Prefix of the entries of link secrets in the bucket `db`: `linksecret.<id of the API key>`. */
export const linkSecretPrefix = 'linksecret';

/** Maximum number of concurrent reads: an account can have thousands of keys. */
const readsAtOnce = 20;

/** The secret that signs the capture links of an API key: `wcs_` and the base64url of 32 random bytes. */
export interface LinkSecret extends RotatedSecret {
  /** Hash under which the key is stored. */
  readonly hash: string;
  /** Ids of the keys that created this secret and its predecessors. When they are revoked with cascade, the secret ends. */
  readonly makers: readonly string[];
}

/** Secrets of capture links, by the ids of their API keys. They are stored in plain text, because HMAC needs them. */
export class LinkSecrets {
  readonly #session: NatsSession;
  readonly #db: Entries;

  constructor(session: NatsSession) {
    this.#session = session;
    this.#db = new Entries(session, 'db');
  }

  /** Returns null if the key has no secret or does not exist. */
  get(id: string): Promise<Entry<LinkSecret> | null> {
    return this.#db.get<LinkSecret>(entryOf(id));
  }

  /** Returns those of the keys that have a secret. Uses one request, which any replica may answer. */
  async existing(ids: readonly string[]): Promise<ReadonlySet<string>> {
    const found = await readMany(this.#session, 'db', ids.map(entryOf));
    return new Set([...found.keys()].map((entry) => entry.slice(entryOf('').length)));
  }

  /**
   * Creates a secret; the current one stays valid for `graceMs` (see {@link rotateSecret}). Throws a write conflict if the secret, or the
   * key that creates it, has changed meanwhile. A revoked key can therefore not create secrets.
   */
  async rotate(
    key: FoundKey,
    maker: FoundKey,
    { graceMs, now }: { graceMs: number; now: number },
  ): Promise<LinkSecret> {
    const { id } = key.value;
    const found = await this.get(id);
    const rotated = rotateSecret(found?.value ?? null, newSecret(), { graceMs, now });
    const before = rotated.former.length === 0 ? [] : (found?.value.makers ?? []);
    const next = { ...rotated, hash: key.hash, makers: [...new Set([maker.value.id, ...before])] };
    await commitBatch(this.#session.nc, [
      this.#db.writing(`key.${maker.hash}`, maker.value, maker.revision),
      this.#db.writing(entryOf(id), next, found?.revision ?? 0),
    ]);
    return next;
  }

  /**
   * Ends the secrets of an account that were created with one of these keys. Returns the ids of the keys to which the secrets belong. The
   * leader of the database answers, so that no new secret is missed.
   */
  async endMadeBy(account: string, makers: ReadonlySet<string>): Promise<ReadonlySet<string>> {
    const prefix = `keyid.${account}.`;
    const ids = (await keysMatching(this.#session, 'db', `${prefix}*`)).map((entry) => entry.slice(prefix.length));
    const ended = new Set<string>();
    const end = (id: string) => (found: LinkSecret | null) => {
      if (found?.makers.some((maker) => makers.has(maker)) !== true) return found;
      ended.add(id);
      // A random secret that is not disclosed replaces the ended one, so that the next one is written like any other.
      return { hash: found.hash, secret: newSecret(), former: [], makers: [] };
    };
    for (let start = 0; start < ids.length; start += readsAtOnce) {
      const batch = ids.slice(start, start + readsAtOnce);
      await Promise.all(batch.map((id) => changeEntry(this.#db, entryOf(id), end(id))));
    }
    return ended;
  }
}

const newSecret = () => `wcs_${randomBytes(32).toString('base64url')}`;

const entryOf = (id: string) => `${linkSecretPrefix}.${id}`;
