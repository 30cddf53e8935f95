import { randomBytes } from 'node:crypto';
import { type RotatedSecret, rotateSecret } from '@webcapture/shared/accounts/rotated-secret.ts';
import { changeEntry } from '@webcapture/shared/nats/change-entry.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { Entries, type Entry } from '@webcapture/shared/nats/entries.ts';
import { readMany } from '@webcapture/shared/nats/read-many.ts';

/** Of the entries of link secrets in the bucket `db`: `linksecret.<id of the API key>`. */
export const linkSecretPrefix = 'linksecret';

/** What the capture links of an API key are signed with: `wcs_` and the base64url of 32 random bytes. */
export interface LinkSecret extends RotatedSecret {
  /** Under which the key itself is kept. */
  readonly hash: string;
}

/** The secrets of capture links, by the ids of the API keys that the links name. HMAC needs them in the clear. */
export class LinkSecrets {
  readonly #session: NatsSession;
  readonly #db: Entries;

  constructor(session: NatsSession) {
    this.#session = session;
    this.#db = new Entries(session, 'db');
  }

  /** Null when the key has none, or there is no such key. */
  get(id: string): Promise<Entry<LinkSecret> | null> {
    return this.#db.get<LinkSecret>(entryOf(id));
  }

  /** Those of the keys that have a secret, in one request; any replica may answer. */
  async existing(ids: readonly string[]): Promise<ReadonlySet<string>> {
    const found = await readMany(this.#session, 'db', ids.map(entryOf));
    return new Set([...found.keys()].map((entry) => entry.slice(entryOf('').length)));
  }

  /** Makes a new secret; the present one still counts for `graceMs` (see {@link rotateSecret}). */
  async rotate(key: { readonly id: string; readonly hash: string }, graceMs: number, now: number): Promise<LinkSecret> {
    const secret = `wcs_${randomBytes(32).toString('base64url')}`;
    const next = (found: LinkSecret | null) => ({ ...rotateSecret(found, secret, { graceMs, now }), hash: key.hash });
    return changeEntry(this.#db, entryOf(key.id), next);
  }
}

const entryOf = (id: string) => `${linkSecretPrefix}.${id}`;
