import { randomUUIDv7 } from 'node:crypto';
import { type ChangedKey, type FoundKey, hashKey, type KeyRecord, type Keys } from './keys.ts';
import { newApiKey } from './new-key.ts';
import type { LinkSecret, LinkSecrets } from './link-secrets.ts';
import type { Scope } from '@webcapture/shared/api/api-key.ts';
import type { KeyView, NewKeyView, RevokedKeyView } from '@webcapture/shared/api/api-key.ts';
import { compareAndSet } from '@webcapture/shared/nats/retry.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { describeValue } from '../validation/explain-errors.ts';

/** A new key in plain text, which the API returns only once, and its record. */
interface MadeKey {
  readonly key: string;
  readonly record: KeyRecord;
}

interface KeyIssuerDeps {
  readonly keys: Keys;
  readonly linkSecrets: LinkSecrets;
  /** Called when a key has changed; caches then drop the key. */
  readonly onChange: (hash: string) => void;
  /** Called with the id of a key whose signing secret has changed. */
  readonly onLinkSecret: (id: string) => void;
  readonly now: () => number;
}

/** Properties of a new key; without `expiresAt` it never expires. */
export type WantedKey = Pick<KeyRecord, 'account' | 'name' | 'scopes'> & { readonly expiresAt?: number | undefined };

/** Maximum number of keys that one request revokes. */
const maxCascade = 1000;
/** Number of keys that are revoked concurrently. */
const cascadeConcurrency = 20;

interface Revoked {
  readonly record: KeyRecord;
  /** Ids of other keys that were revoked with the key. */
  readonly alsoRevoked: readonly string[];
  /** Whether the revocation reached all keys that the request covers. */
  readonly isComplete: boolean;
}

/** Creates, rotates and revokes keys, and creates the secrets that sign their links. */
export class KeyIssuer {
  readonly #deps: KeyIssuerDeps;

  constructor(deps: KeyIssuerDeps) {
    this.#deps = deps;
  }

  /** Creates a key on behalf of the operator. */
  async make(wanted: WantedKey): Promise<MadeKey> {
    const made = this.#fresh(fieldsOf(wanted));
    await this.#deps.keys.put(hashKey(made.key), made.record);
    return made;
  }

  /**
   * Creates a key on behalf of another key of the account, its maker. The new key has at most the scopes and the lifetime of its maker:
   * without `expiresAt`, it expires with its maker.
   *
   * @param wanted `expiresAt: null` requests a key that never expires
   * @throws ServiceError FORBIDDEN if the key would have more scopes than its maker; VALIDATION_ERROR if it would expire later;
   * UNAUTHORIZED, API_KEY_REVOKED, API_KEY_EXPIRED if the maker has become invalid meanwhile
   */
  async makeWith(
    maker: KeyRecord,
    wanted: Omit<WantedKey, 'account' | 'expiresAt'> & { readonly expiresAt?: number | null | undefined },
  ): Promise<MadeKey> {
    checkScopes(wanted.scopes, maker.scopes);
    const { keys } = this.#deps;
    return compareAndSet(async () => {
      const found = await this.#stillValid(maker);
      const end = found.value.expiresAt;
      const expiresAt = wanted.expiresAt === undefined ? end : (wanted.expiresAt ?? undefined);
      if (end !== undefined && (expiresAt ?? Infinity) > end) {
        throw new ServiceError(
          'VALIDATION_ERROR',
          `expiresAt must not be later than ${new Date(end).toISOString()}, when the API key of this request expires: ` +
            'omit it, or use an API key that expires later',
        );
      }
      const made = this.#fresh({
        ...fieldsOf({ ...wanted, account: maker.account, expiresAt }),
        ...originOf(found.value),
      });
      await keys.add({ hash: hashKey(made.key), record: made.record }, [{ found, record: found.value }]);
      return made;
    });
  }

  /**
   * Creates a key with the same name, scopes and lifetime, and ends the old key after the grace period. The key that the old key replaced
   * ends immediately. If the old key was rotated before (a client repeats the request when the response is lost), the key of that earlier
   * rotation ends immediately as well.
   *
   * @param caller the key that sends the request: the old key or another one
   * @throws ServiceError NOT_FOUND; CONFLICT if the key is no longer valid; FORBIDDEN if the new key would have more scopes, or expire
   * later, than the caller; UNAUTHORIZED, API_KEY_REVOKED, API_KEY_EXPIRED if the caller has become invalid meanwhile
   */
  async rotate(caller: KeyRecord, id: string, graceMs: number): Promise<MadeKey> {
    const { keys, now: clock, onChange } = this.#deps;
    const { account } = caller;
    return compareAndSet(async () => {
      const old = await this.#findWithin(caller, id);
      const now = clock();
      const { name, scopes, expiresAt, rotatedFrom, rotatedTo } = old.value;
      const before = rotatedFrom === undefined ? null : await keys.find(account, rotatedFrom);
      const after = rotatedTo === undefined ? null : await keys.find(account, rotatedTo);
      const end = after === null ? renewedEnd(old.value, now) : endOfSuccessor(after.value, now);

      const isItself = caller.id === id;
      const actor = isItself ? old : await this.#stillValid(caller);
      if (!isItself && (end ?? Infinity) > (actor.value.expiresAt ?? Infinity)) throw outlivesCaller('new key');
      const origin = isItself
        ? { madeBy: id, ...(old.value.notAfter === undefined ? {} : { notAfter: old.value.notAfter }) }
        : originOf(actor.value);
      const made = this.#fresh({ ...fieldsOf({ account, name, scopes, expiresAt: end }), ...origin, rotatedFrom: id });

      const replaced = {
        ...old.value,
        rotatedTo: made.record.id,
        expiresAt: Math.min(expiresAt ?? Infinity, now + graceMs),
      };
      const others: ChangedKey[] = [{ found: old, record: replaced }];
      for (const found of [before, after]) {
        if (found !== null && isValid(found.value, now))
          others.push({ found, record: { ...found.value, expiresAt: now } });
      }
      // The caller may be among the keys that end.
      if (!others.some(({ found }) => found.hash === actor.hash)) others.push({ found: actor, record: actor.value });
      await keys.add({ hash: hashKey(made.key), record: made.record }, others);
      for (const { found } of others) onChange(found.hash);
      return made;
    });
  }

  /**
   * Revokes a key immediately. A key that is already revoked stays unchanged. With `cascade`, also revokes all keys that were created with
   * the key, directly or indirectly. The key is revoked before those keys are listed, so that it cannot create further ones. Link secrets
   * that any of these keys has created are removed as well.
   *
   * @param account the required owner of the key; null accepts any
   * @param keep id of a key that is kept with all keys that it has created: the key that sends the request
   * @throws ServiceError NOT_FOUND
   */
  async revoke(
    account: string | null,
    id: string,
    { cascade = false, keep }: { readonly cascade?: boolean; readonly keep?: string } = {},
  ): Promise<Revoked> {
    const root = await this.#revokeOne(account, id);
    if (root === null) throw noSuchKey();
    const { record } = root;
    const alsoRevoked: string[] = [];
    const seen = new Set<string>();
    // The keys are listed again after all of them are revoked, because a key can create others until then.
    while (cascade) {
      const lineage = await this.#lineage(record, keep === id ? undefined : keep);
      const ids = lineage.filter((other) => !seen.has(other));
      if (ids.length === 0) break;
      for (let start = 0; start < ids.length; start += cascadeConcurrency) {
        if (alsoRevoked.length >= maxCascade) return { record, alsoRevoked, isComplete: false };
        const batch = ids.slice(start, start + cascadeConcurrency);
        const ended = await Promise.all(batch.map((other) => this.#revokeOne(record.account, other)));
        for (const other of batch) seen.add(other);
        alsoRevoked.push(...ended.flatMap((one) => (one?.isNew === true ? [one.record.id] : [])));
      }
    }
    if (cascade) await this.#endLinkSecrets(record.account, new Set([id, ...seen]));
    return { record, alsoRevoked, isComplete: true };
  }

  async #endLinkSecrets(account: string, makers: ReadonlySet<string>): Promise<void> {
    const { linkSecrets, onLinkSecret } = this.#deps;
    for (const id of await linkSecrets.endMadeBy(account, makers)) onLinkSecret(id);
  }

  /**
   * Returns the ids of the keys that a key has created, directly or indirectly. Omits the key `without` and the keys that were created with
   * it.
   */
  async #lineage({ account, id }: KeyRecord, without: string | undefined): Promise<readonly string[]> {
    const made = await this.#deps.keys.madeByKey(account);
    const found = new Set([id]);
    for (const maker of found) {
      for (const other of made.get(maker) ?? []) if (other !== without) found.add(other);
    }
    found.delete(id);
    return [...found];
  }

  async #revokeOne(account: string | null, id: string) {
    let isNew = false;
    const changed = await this.#deps.keys.change(account, id, (record) => {
      isNew = record.revokedAt === undefined;
      return isNew ? { ...record, revokedAt: this.#deps.now() } : null;
    });
    if (changed === null) return null;
    this.#deps.onChange(changed.hash);
    return { record: changed.record, isNew };
  }

  /**
   * Creates a secret that signs links on behalf of a key. While the secret is valid, its holder has the rights of the key.
   *
   * @param graceMs time for which the previous secret stays valid
   * @throws ServiceError as {@link rotate}
   */
  async makeLinkSecret(caller: KeyRecord, id: string, graceMs: number): Promise<LinkSecret> {
    const { linkSecrets, now, onLinkSecret } = this.#deps;
    const made = await compareAndSet(async () => {
      const key = await this.#findWithin(caller, id);
      const maker = caller.id === id ? key : await this.#stillValid(caller);
      if ((key.value.expiresAt ?? Infinity) > (maker.value.expiresAt ?? Infinity)) throw outlivesCaller('key');
      return linkSecrets.rotate(key, maker, { graceMs, now: now() });
    });
    onLinkSecret(id);
    return made;
  }

  /** Finds a valid key of the caller's account whose scopes do not exceed the caller's. */
  async #findWithin(caller: KeyRecord, id: string): Promise<FoundKey> {
    const found = await this.#deps.keys.find(caller.account, id);
    if (found === null) throw noSuchKey();
    const { scopes, revokedAt, expiresAt } = found.value;
    if (revokedAt !== undefined) throw new ServiceError('CONFLICT', 'The key is revoked. Create another one.');
    if (expiresAt !== undefined && expiresAt <= this.#deps.now()) {
      throw new ServiceError('CONFLICT', 'The key has expired. Create another one.');
    }
    checkScopes(scopes, caller.scopes);
    return found;
  }

  /** Reads the caller's record from the leader, because the front's cached copy may be outdated. Throws if it is not valid. */
  async #stillValid({ account, id }: KeyRecord): Promise<FoundKey> {
    const found = await this.#deps.keys.find(account, id);
    if (found === null) throw new ServiceError('UNAUTHORIZED');
    if (found.value.revokedAt !== undefined) throw new ServiceError('API_KEY_REVOKED');
    if (!isValid(found.value, this.#deps.now())) throw new ServiceError('API_KEY_EXPIRED');
    return found;
  }

  #fresh(fields: Omit<KeyRecord, 'id' | 'createdAt'>): MadeKey {
    return { key: newApiKey(), record: { id: randomUUIDv7(), ...fields, createdAt: this.#deps.now() } };
  }
}

const fieldsOf = ({ account, name, scopes, expiresAt }: WantedKey) => ({
  account,
  name,
  scopes: [...new Set(scopes)],
  ...(expiresAt === undefined ? {} : { expiresAt }),
});

/** Returns the fields of a new key that depend on its maker. */
function originOf(maker: KeyRecord): Pick<KeyRecord, 'madeBy' | 'notAfter'> {
  const notAfter = Math.min(maker.expiresAt ?? Infinity, maker.notAfter ?? Infinity);
  return { madeBy: maker.id, ...(notAfter === Infinity ? {} : { notAfter }) };
}

/** Returns the expiry of the new key: its lifetime is that of the old key, but it does not outlive the maker of the old key. */
function renewedEnd({ createdAt, expiresAt, notAfter }: KeyRecord, now: number): number | undefined {
  const end = Math.min(expiresAt === undefined ? Infinity : now + (expiresAt - createdAt), notAfter ?? Infinity);
  return end === Infinity ? undefined : end;
}

/**
 * Returns the expiry of a new key when the old key was rotated before. The expiry of the old key is now the end of its grace period, so the
 * lifetime comes from the key of the earlier rotation.
 */
function endOfSuccessor({ revokedAt, expiresAt }: KeyRecord, now: number): number | undefined {
  if (revokedAt !== undefined || (expiresAt !== undefined && expiresAt <= now)) {
    throw new ServiceError(
      'CONFLICT',
      'The key was rotated, and the key that replaced it is no longer valid. Create another one.',
    );
  }
  return expiresAt;
}

const isValid = ({ revokedAt, expiresAt }: KeyRecord, now: number) =>
  revokedAt === undefined && (expiresAt === undefined || expiresAt > now);

const outlivesCaller = (what: string) =>
  new ServiceError(
    'FORBIDDEN',
    `The ${what} would expire later than the API key of this request. Send the request with an API key that expires later or never.`,
  );

/**
 * Ensures that a key passes on only scopes that it has.
 *
 * @throws ServiceError FORBIDDEN
 */
function checkScopes(wanted: readonly Scope[], held: readonly Scope[]): void {
  const missing = wanted.filter((scope) => !held.includes(scope));
  if (missing.length === 0) return;
  const names = missing.map((scope) => `"${scope}"`).join(', ');
  throw new ServiceError('FORBIDDEN', `The API key lacks ${names}: a key cannot pass on scopes that it does not have.`);
}

const noSuchKey = () => new ServiceError('NOT_FOUND', 'There is no API key with this id.');

/** Returns the public view of a key; `now` in Unix milliseconds. */
export function keyView(record: KeyRecord, now: number): KeyView {
  return {
    id: record.id,
    accountId: record.account,
    name: record.name,
    scopes: [...record.scopes],
    status: statusOf(record, now),
    createdAt: new Date(record.createdAt).toISOString(),
    createdBy: record.madeBy ?? null,
    expiresAt: dateOrNull(record.expiresAt),
    revokedAt: dateOrNull(record.revokedAt),
  };
}

/** Returns the view of a new key. Only this view contains the key itself. */
export function newKeyView(made: { readonly key: string; readonly record: KeyRecord }, now: number): NewKeyView {
  return { ...keyView(made.record, now), key: made.key };
}

/** Returns the view of a revocation. It includes the other revoked keys only with `cascade`. */
export function revokedKeyView(
  { record, alsoRevoked, isComplete }: Revoked,
  cascade: boolean,
  now: number,
): RevokedKeyView {
  const view = keyView(record, now);
  return cascade ? { ...view, alsoRevoked: [...alsoRevoked], isComplete } : view;
}

function statusOf({ revokedAt, expiresAt }: KeyRecord, now: number): KeyView['status'] {
  if (revokedAt !== undefined) return 'revoked';
  return expiresAt !== undefined && expiresAt <= now ? 'expired' : 'active';
}

const isoDate = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/i;

/**
 * Parses the expiry date of a key to Unix milliseconds; undefined means never.
 *
 * @throws ServiceError VALIDATION_ERROR for a value that is not a date with a time zone, or that has passed
 */
export function parseExpiry(text: string | null | undefined, now: number): number | undefined {
  if (text === null || text === undefined) return undefined;
  const time = isoDate.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(time)) {
    const rule = 'expiresAt must be a date and time like "2030-01-31T00:00:00Z"';
    throw new ServiceError('VALIDATION_ERROR', `${rule}, not ${describeValue(text)}`);
  }
  if (time <= now) throw new ServiceError('VALIDATION_ERROR', `expiresAt must be in the future, not ${text}`);
  return time;
}

/** Formats Unix milliseconds as ISO 8601; returns null for undefined. */
export const dateOrNull = (time: number | undefined) => (time === undefined ? null : new Date(time).toISOString());
