import { type Isolation, maxByteLimit } from '../api/account.ts';
import type { PageQuery } from '../api/capture-list.ts';
import { changeEntry, Entries, type Entry } from '../nats/entries.ts';
import type { NatsSession } from '../nats/connect.ts';
import { isKeyPart, keysMatching, pageOf, readMany } from '../nats/read-many.ts';
import type { EnvReader } from '../runtime/env.ts';
import { integerVariable } from '../runtime/variables.ts';
import type { AccountLimits } from './limits.ts';

/**
 * The stored record of an account, the owner of captures. Times are Unix milliseconds. A missing limit means the
 * operator's default.
 */
export interface AccountRecord extends Partial<AccountLimits> {
  readonly id: string;
  readonly name: string;
  readonly createdAt: number;
  readonly suspendedAt?: number;
  /** If absent, `context` applies. */
  readonly isolation?: Isolation;
  /** Whether the account's captures may ignore TLS errors. The installation must allow it too. If absent, false applies. */
  readonly allowIgnoreTlsErrors?: boolean;
}

/** An account with every limit filled in. */
export type Account = AccountRecord & AccountLimits;

export class Accounts {
  readonly #session: NatsSession;
  readonly #db: Entries;

  constructor(session: NatsSession) {
    this.#session = session;
    this.#db = new Entries(session, 'db');
  }

  async get(id: string): Promise<Entry<AccountRecord> | null> {
    return isKeyPart(id) ? this.#db.get<AccountRecord>(`account.${id}`) : null;
  }

  async put(record: AccountRecord): Promise<void> {
    await this.#db.put(`account.${record.id}`, record);
  }

  /** Throws a write conflict if an account with that id exists. */
  async create(record: AccountRecord): Promise<void> {
    await this.#db.create(`account.${record.id}`, record);
  }

  /** Changes an account by compare-and-set. Returns the resulting record, or null if the account does not exist. */
  async change(id: string, next: (record: AccountRecord) => AccountRecord): Promise<AccountRecord | null> {
    if (!isKeyPart(id)) return null;
    const nextIfThere = (found: AccountRecord | null) => (found === null ? null : next(found));
    return changeEntry(this.#db, `account.${id}`, nextIfThere);
  }

  /** Returns one page of all accounts, newest first. */
  async list(page: PageQuery): Promise<{ items: readonly AccountRecord[]; nextCursor: string | null }> {
    const keys = await keysMatching(this.#session, 'db', 'account.*');
    const { ids, nextCursor } = pageOf(
      keys.map((key) => key.slice('account.'.length)),
      page,
    );
    const records = await readMany<AccountRecord>(
      this.#session,
      'db',
      ids.map((id) => `account.${id}`),
    );
    return { items: ids.flatMap((id) => records.get(`account.${id}`) ?? []), nextCursor };
  }
}

/** Returns the account with the operator's defaults for limits that its record does not contain. */
export function withDefaultLimits(record: AccountRecord, defaults: AccountLimits): Account {
  return { ...defaults, ...record };
}

export const defaultLimitVariables = {
  tokenQuota: integerVariable('WEBCAPTURE_DEFAULT_TOKEN_QUOTA', {
    default: 100_000,
    min: 0,
    max: 1e12,
    meaning: 'Tokens that an account may use in a calendar month (UTC).',
  }),
  ratePerMinute: integerVariable('WEBCAPTURE_DEFAULT_RATE_PER_MINUTE', {
    default: 120,
    min: 1,
    max: 1e6,
    meaning: 'Captures that an account may request per minute.',
  }),
  burst: integerVariable('WEBCAPTURE_DEFAULT_BURST', {
    default: 120,
    defaultText: '`WEBCAPTURE_DEFAULT_RATE_PER_MINUTE`',
    min: 1,
    max: 1e6,
    meaning: 'Captures that an account may request at once before the rate applies.',
  }),
  maxInFlight: integerVariable('WEBCAPTURE_DEFAULT_MAX_IN_FLIGHT', {
    default: 20,
    min: 1,
    max: 1e6,
    meaning: 'Captures of an account that clients may wait for at the same time.',
  }),
  maxQueued: integerVariable('WEBCAPTURE_DEFAULT_MAX_QUEUED', {
    default: 10_000,
    min: 0,
    max: 1e7,
    meaning: 'Background captures of an account that may be queued at the same time.',
  }),
  maxQueuedBytes: bytesVariable('WEBCAPTURE_DEFAULT_MAX_QUEUED_BYTES', {
    defaultGibibytes: 1,
    meaning:
      'HTML of the background captures of an account that have not ended. It is stored in NATS, also with a bucket.',
  }),
  maxStoredBytes: bytesVariable('WEBCAPTURE_DEFAULT_MAX_STORED_BYTES', {
    defaultGibibytes: 100,
    meaning: 'Files of an account that expire.',
  }),
  maxPersistedBytes: bytesVariable('WEBCAPTURE_DEFAULT_MAX_PERSISTED_BYTES', {
    defaultGibibytes: 100,
    meaning: 'Files of an account that `persistence` keeps, and the HTML that is kept with them.',
  }),
};

function bytesVariable(
  name: string,
  { defaultGibibytes, meaning }: { readonly defaultGibibytes: number; readonly meaning: string },
) {
  const defaultText = `${defaultGibibytes} GiB`;
  return integerVariable(name, {
    default: defaultGibibytes * 2 ** 30,
    defaultText,
    min: 0,
    max: maxByteLimit,
    unit: 'bytes',
    meaning,
  });
}

/** Reads the default limits of accounts. Fronts and controllers must have the same values. */
export function readDefaultLimits(env: EnvReader): AccountLimits {
  const ratePerMinute = defaultLimitVariables.ratePerMinute.read(env);
  return {
    tokenQuota: defaultLimitVariables.tokenQuota.read(env),
    ratePerMinute,
    burst: defaultLimitVariables.burst.read(env, ratePerMinute),
    maxInFlight: defaultLimitVariables.maxInFlight.read(env),
    maxQueued: defaultLimitVariables.maxQueued.read(env),
    maxQueuedBytes: defaultLimitVariables.maxQueuedBytes.read(env),
    maxStoredBytes: defaultLimitVariables.maxStoredBytes.read(env),
    maxPersistedBytes: defaultLimitVariables.maxPersistedBytes.read(env),
  };
}
