import { createHash } from 'node:crypto';
import type { NatsSession } from '../nats/connect.ts';
import { Entries, type Entry } from '../nats/entries.ts';

export const scopes = ['capture', 'read', 'manage'] as const;
export type Scope = (typeof scopes)[number];

/** An API key as it is kept: the key itself is known to its holder only. Times are Unix milliseconds. */
export interface KeyRecord {
  readonly id: string;
  readonly account: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly createdAt: number;
  readonly expiresAt?: number;
  readonly revokedAt?: number;
}

/** API keys by the SHA-256 of the key. */
export class Keys {
  readonly #db: Entries;

  constructor(session: NatsSession) {
    this.#db = new Entries(session, 'db');
  }

  async get(hash: string): Promise<Entry<KeyRecord> | null> {
    return this.#db.get<KeyRecord>(`key.${hash}`);
  }

  async put(hash: string, record: KeyRecord): Promise<void> {
    await this.#db.put(`key.${hash}`, record);
  }
}

/** What a key is kept under: lower-case hex. */
export function hashKey(key: string): string {
  return createHash('sha256').update(key, 'utf8').digest('hex');
}
