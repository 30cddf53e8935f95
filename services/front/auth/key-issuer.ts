import { randomUUIDv7 } from 'node:crypto';
import { type ChangedKey, type FoundKey, hashKey, type KeyRecord, type Keys, newApiKey } from './keys.ts';
import type { LinkSecret, LinkSecrets } from './link-secrets.ts';
import type { Scope } from '@webcapture/shared/api/api-key.ts';
import type { KeyView, NewKeyView, RevokedKeyView } from '@webcapture/shared/api/api-key.ts';
import { compareAndSet } from '@webcapture/shared/nats/retry.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { describeValue } from '../validation/explain-errors.ts';

/** A key in clear, and its record: handed out once. */
interface MadeKey {
  readonly key: string;
  readonly record: KeyRecord;
}

interface KeyIssuerDeps {
  readonly keys: Pick<Keys, 'put' | 'find' | 'change' | 'add' | 'madeByKey'>;
  readonly linkSecrets: Pick<LinkSecrets, 'rotate' | 'endMadeBy'>;
  /** A key has changed: what is remembered of it is no longer true. */
  readonly onChange: (hash: string) => void;
  /** So has the signing secret of a key, by its id. */
  readonly onLinkSecret: (id: string) => void;
  readonly now: () => number;
}

/** What a key is to be; without `expiresAt` it never ends. */
export type WantedKey = Pick<KeyRecord, 'account' | 'name' | 'scopes'> & { readonly expiresAt?: number | undefined };

/** Maximum number of keys revoked by one request, and how many of them concurrently. */
const maxCascade = 1000;
const cascadeConcurrency = 20;

interface Revoked {
  readonly record: KeyRecord;
  /** Ids of other keys that ended with it. */
  readonly alsoRevoked: readonly string[];
  /** Whether no key is left that should have ended with it. */
  readonly isComplete: boolean;
}

/** Makes, rotates and revokes keys, and makes the secrets that sign links in their name. */
export class KeyIssuer {
  readonly #deps: KeyIssuerDeps;

  constructor(deps: KeyIssuerDeps) {
    this.#deps = deps;
  }

  /** Makes a key in the name of the operator. */
  async make(wanted: WantedKey): Promise<MadeKey> {
    const made = this.#fresh(fieldsOf(wanted));
    await this.#deps.keys.put(hashKey(made.key), made.record);
    return made;
  }

  /**
   * Makes a key with the scopes and within the life of another one of the account, its maker: without an `expiresAt`, it
   * ends with it.
   *
   * @param wanted `expiresAt: null` asks for a key that never ends
   * @throws ServiceError FORBIDDEN when the key could do more than its maker; VALIDATION_ERROR when it would live longer;
   *   UNAUTHORIZED, API_KEY_REVOKED, API_KEY_EXPIRED when the maker has ended meanwhile
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
            'leave it out, or use an API key that lives longer',
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
   * Makes a key of the same name, scopes and length of life, and lets the old one end after the grace. Of the keys that
   * were in its place before, none is left: the one that it was rotated from ends at once; and when it is rotated again,
   * because the answer of the first time was lost, the one that was made then.
   *
   * @param caller the key that rotates, itself or another one
   * @throws ServiceError NOT_FOUND; CONFLICT for a key that no longer works; FORBIDDEN when the new key could do more, or
   *   would live longer, than the caller; UNAUTHORIZED, API_KEY_REVOKED, API_KEY_EXPIRED when the caller has ended meanwhile
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
      // The one that rotates may be among those that end.
      if (!others.some(({ found }) => found.hash === actor.hash)) others.push({ found: actor, record: actor.value });
      await keys.add({ hash: hashKey(made.key), record: made.record }, others);
      for (const { found } of others) onChange(found.hash);
      return made;
    });
  }

  /**
   * Revokes a key at once; a key that was revoked before is unchanged. With `cascade`, all keys that were created with it are revoked
   * too, and those created with them. The key is revoked before they are listed, so that it cannot create further ones. The link secrets
   * that any of them has created are removed as well.
   *
   * @param account the required owner of the key; null for any
   * @param keep id of a key that is kept with all that it has created: the one that sends the request
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
    // List again after all of them are revoked, since a key can create others until then.
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

  /** Ids of the keys that were made with a key, directly or not, but for one of them and what was made with that. */
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
   * Creates a secret that signs links in the name of a key. Its holder can do what the key can while the secret is valid.
   *
   * @param graceMs how long the previous secret stays valid
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

  /** A key of the caller's account that works, and can do no more than the caller. */
  async #findWithin(caller: KeyRecord, id: string): Promise<FoundKey> {
    const found = await this.#deps.keys.find(caller.account, id);
    if (found === null) throw noSuchKey();
    const { scopes, revokedAt, expiresAt } = found.value;
    if (revokedAt !== undefined) throw new ServiceError('CONFLICT', 'This key was revoked. Create another one.');
    if (expiresAt !== undefined && expiresAt <= this.#deps.now()) {
      throw new ServiceError('CONFLICT', 'This key has expired. Create another one.');
    }
    checkScopes(scopes, caller.scopes);
    return found;
  }

  /** The record of the key that sends a request, as the leader has it: what a front remembers can be a moment old. */
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

/** What a key keeps of its maker. */
function originOf(maker: KeyRecord): Pick<KeyRecord, 'madeBy' | 'notAfter'> {
  const notAfter = Math.min(maker.expiresAt ?? Infinity, maker.notAfter ?? Infinity);
  return { madeBy: maker.id, ...(notAfter === Infinity ? {} : { notAfter }) };
}

/** As long as the old key was to live, from now on, but not beyond what its maker was given. */
function renewedEnd({ createdAt, expiresAt, notAfter }: KeyRecord, now: number): number | undefined {
  const end = Math.min(expiresAt === undefined ? Infinity : now + (expiresAt - createdAt), notAfter ?? Infinity);
  return end === Infinity ? undefined : end;
}

/**
 * The old key ends after its grace period, so the lifetime of the next one comes from the key that it was rotated into.
 */
function endOfSuccessor({ revokedAt, expiresAt }: KeyRecord, now: number): number | undefined {
  if (revokedAt !== undefined || (expiresAt !== undefined && expiresAt <= now)) {
    throw new ServiceError(
      'CONFLICT',
      'This key was rotated, and the key that took its place has ended. Create another one.',
    );
  }
  return expiresAt;
}

const isValid = ({ revokedAt, expiresAt }: KeyRecord, now: number) =>
  revokedAt === undefined && (expiresAt === undefined || expiresAt > now);

const outlivesCaller = (what: string) =>
  new ServiceError(
    'FORBIDDEN',
    `The ${what} would live longer than the API key of this request. Use an API key that lives at least as long.`,
  );

/**
 * A key hands on no more than it has.
 *
 * @throws ServiceError FORBIDDEN
 */
function checkScopes(wanted: readonly Scope[], held: readonly Scope[]): void {
  const missing = wanted.filter((scope) => !held.includes(scope));
  if (missing.length === 0) return;
  const names = missing.map((scope) => `"${scope}"`).join(', ');
  throw new ServiceError('FORBIDDEN', `The API key lacks ${names}: a key cannot give scopes that it does not have.`);
}

const noSuchKey = () => new ServiceError('NOT_FOUND', 'There is no key of this id.');

/** The public view of a key at a time (Unix ms). */
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

/** What is shown once, when a key has just been made. */
export function newKeyView(made: { readonly key: string; readonly record: KeyRecord }, now: number): NewKeyView {
  return { ...keyView(made.record, now), key: made.key };
}

/** What is shown of a revocation; of others only where it was asked for them. */
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
