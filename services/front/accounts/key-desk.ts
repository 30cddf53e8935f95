import { randomUUIDv7 } from 'node:crypto';
import { ServiceError } from '@webcapture/shared/errors/service-error.ts';
import { isWriteConflict } from '@webcapture/shared/nats/api-errors.ts';
import { hashKey, type KeyRecord, type Keys, type Scope } from '@webcapture/shared/state/keys.ts';
import { newApiKey } from '@webcapture/shared/state/new-key.ts';

/** A key in clear, and its record: handed out once. */
export interface MadeKey {
  readonly key: string;
  readonly record: KeyRecord;
}

export interface KeyDeskDeps {
  readonly keys: Pick<Keys, 'put' | 'find' | 'change' | 'replace'>;
  /** A key has changed: what is remembered of it is no longer true. */
  readonly onChange: (hash: string) => void;
  readonly now: () => number;
}

const attempts = 5;

/** Makes, rotates and revokes keys. */
export class KeyDesk {
  readonly #deps: KeyDeskDeps;

  constructor(deps: KeyDeskDeps) {
    this.#deps = deps;
  }

  async make(wanted: Pick<KeyRecord, 'account' | 'name' | 'scopes'> & { expiresAt?: number }): Promise<MadeKey> {
    const made = this.#fresh({ ...wanted, scopes: [...new Set(wanted.scopes)] });
    await this.#deps.keys.put(hashKey(made.key), made.record);
    return made;
  }

  /**
   * Makes a key of the same name, scopes and length of life, and lets the old one end after the grace.
   *
   * @throws ServiceError NOT_FOUND; CONFLICT for a key that no longer works; FORBIDDEN when the new key could do more
   *   than the `held` scopes
   */
  async rotate(account: string, id: string, graceMs: number, held: readonly Scope[]): Promise<MadeKey> {
    for (let attempt = 1; ; attempt++) {
      const old = await this.#deps.keys.find(account, id);
      if (old === null) throw noSuchKey();
      const { name, scopes, createdAt, expiresAt, revokedAt } = old.value;
      const now = this.#deps.now();
      if (revokedAt !== undefined) throw new ServiceError('CONFLICT', 'This key was revoked. Create another one.');
      if (expiresAt !== undefined && expiresAt <= now) {
        throw new ServiceError('CONFLICT', 'This key has expired. Create another one.');
      }
      checkScopes(scopes, held);
      const lifetime = expiresAt === undefined ? {} : { expiresAt: now + (expiresAt - createdAt) };
      const made = this.#fresh({ account, name, scopes, ...lifetime });
      const changed = { ...old.value, expiresAt: Math.min(expiresAt ?? Infinity, now + graceMs) };
      try {
        await this.#deps.keys.replace(old, changed, { hash: hashKey(made.key), record: made.record });
        this.#deps.onChange(old.hash);
        return made;
      } catch (error) {
        if (!isWriteConflict(error) || attempt >= attempts) throw error;
      }
    }
  }

  /**
   * Ends a key at once; one that was revoked before stays as it is.
   *
   * @param account whose key it must be; null for any
   * @throws ServiceError NOT_FOUND
   */
  async revoke(account: string | null, id: string): Promise<KeyRecord> {
    const changed = await this.#deps.keys.change(account, id, (record) =>
      record.revokedAt === undefined ? { ...record, revokedAt: this.#deps.now() } : null,
    );
    if (changed === null) throw noSuchKey();
    this.#deps.onChange(changed.hash);
    return changed.record;
  }

  #fresh(fields: Omit<KeyRecord, 'id' | 'createdAt'>): MadeKey {
    return { key: newApiKey(), record: { id: randomUUIDv7(), ...fields, createdAt: this.#deps.now() } };
  }
}

/**
 * A key hands on no more than it has.
 *
 * @throws ServiceError FORBIDDEN
 */
export function checkScopes(wanted: readonly Scope[], held: readonly Scope[]): void {
  const missing = wanted.filter((scope) => !held.includes(scope));
  if (missing.length === 0) return;
  const names = missing.map((scope) => `"${scope}"`).join(', ');
  throw new ServiceError('FORBIDDEN', `The API key lacks ${names}: a key cannot give scopes that it does not have.`);
}

const noSuchKey = () => new ServiceError('NOT_FOUND', 'There is no key of this id.');
