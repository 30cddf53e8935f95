import { randomUUIDv7 } from 'node:crypto';
import { hashKey, type KeyRecord, type Keys, newApiKey } from './keys.ts';
import type { Scope } from '@webcapture/shared/api/api-key.ts';
import type { KeyView, NewKeyView } from '@webcapture/shared/api/api-key.ts';
import { compareAndSet } from '@webcapture/shared/nats/retry.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { describeValue } from '../validation/explain-errors.ts';

/** A key in clear, and its record: handed out once. */
interface MadeKey {
  readonly key: string;
  readonly record: KeyRecord;
}

interface KeyIssuerDeps {
  readonly keys: Pick<Keys, 'put' | 'find' | 'change' | 'replace'>;
  /** A key has changed: what is remembered of it is no longer true. */
  readonly onChange: (hash: string) => void;
  readonly now: () => number;
}

/** Makes, rotates and revokes keys. */
export class KeyIssuer {
  readonly #deps: KeyIssuerDeps;

  constructor(deps: KeyIssuerDeps) {
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
    const { keys, now: clock, onChange } = this.#deps;
    return compareAndSet(async () => {
      const old = await keys.find(account, id);
      if (old === null) throw noSuchKey();
      const { name, scopes, createdAt, expiresAt, revokedAt } = old.value;
      const now = clock();
      if (revokedAt !== undefined) throw new ServiceError('CONFLICT', 'This key was revoked. Create another one.');
      if (expiresAt !== undefined && expiresAt <= now) {
        throw new ServiceError('CONFLICT', 'This key has expired. Create another one.');
      }
      checkScopes(scopes, held);
      const lifetime = expiresAt === undefined ? {} : { expiresAt: now + (expiresAt - createdAt) };
      const made = this.#fresh({ account, name, scopes, ...lifetime });
      const changed = { ...old.value, expiresAt: Math.min(expiresAt ?? Infinity, now + graceMs) };
      await keys.replace(old, changed, { hash: hashKey(made.key), record: made.record });
      onChange(old.hash);
      return made;
    });
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

/** What is shown of a key at a time (Unix ms). */
export function keyView(record: KeyRecord, now: number): KeyView {
  return {
    id: record.id,
    accountId: record.account,
    name: record.name,
    scopes: [...record.scopes],
    status: statusOf(record, now),
    createdAt: new Date(record.createdAt).toISOString(),
    expiresAt: dateOrNull(record.expiresAt),
    revokedAt: dateOrNull(record.revokedAt),
  };
}

/** What is shown once, when a key has just been made. */
export function newKeyView(made: { readonly key: string; readonly record: KeyRecord }, now: number): NewKeyView {
  return { ...keyView(made.record, now), key: made.key };
}

function statusOf({ revokedAt, expiresAt }: KeyRecord, now: number): KeyView['status'] {
  if (revokedAt !== undefined) return 'revoked';
  return expiresAt !== undefined && expiresAt <= now ? 'expired' : 'active';
}

const isoDate = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/i;

/**
 * When a key is to end, as Unix milliseconds; undefined for never.
 *
 * @throws ServiceError VALIDATION_ERROR for what is no date with a time zone, or has passed
 */
export function parseExpiry(text: string | null | undefined, now: number): number | undefined {
  if (text === null || text === undefined) return undefined;
  const time = isoDate.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(time)) {
    const rule = 'expiresAt must be a date and time like "2030-01-31T00:00:00Z"';
    throw new ServiceError('VALIDATION_ERROR', `${rule}, not ${describeValue(text)}`);
  }
  if (time <= now) throw new ServiceError('VALIDATION_ERROR', `expiresAt must lie in the future, not at ${text}`);
  return time;
}

/** Unix milliseconds as ISO 8601, or null for what has not happened and never will. */
export const dateOrNull = (time: number | undefined) => (time === undefined ? null : new Date(time).toISOString());
