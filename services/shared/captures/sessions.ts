import { isWriteConflict } from '../nats/api-errors.ts';
import type { NatsSession } from '../nats/connect.ts';
import { Entries } from '../nats/entries.ts';
import { keysMatching, readMany } from '../nats/read-many.ts';
import type { SealedSecrets, SecretsOwner } from './sealed-secrets.ts';
import { timeOfUuid } from './uuid.ts';

/** A session without its state. All times are Unix milliseconds. */
export interface SessionRecord {
  /** UUID of the capture that logged in. */
  readonly uuid: string;
  readonly account: string;
  readonly name?: string;
  /** URL of the page that logged in. */
  readonly url: string;
  /** Hosts of the cookies and of the storage. */
  readonly sites: readonly string[];
  readonly expiresAt: number;
}

/** Returns the owner of the sealed state of a session. The secrets of the capture that logged in have another owner. */
export const sessionOwner = (account: string, uuid: string): SecretsOwner => ({ account, uuid: `session/${uuid}` });

/**
 * The sessions of accounts. The sealed state of a session is a separate entry, so lists do not read it. The server removes both entries
 * when the session expires. Methods throw the errors of NATS.
 */
export class Sessions {
  readonly #session: NatsSession;
  readonly #entries: Entries;

  constructor(session: NatsSession) {
    this.#session = session;
    this.#entries = new Entries(session, 'db');
  }

  /** Returns a session; null if the account has no session of that uuid, or the session has expired. */
  async get(account: string, uuid: string): Promise<SessionRecord | null> {
    if (timeOfUuid(uuid) === null) return null;
    const found = await this.#entries.get<SessionRecord>(sessionKey(account, uuid));
    return found !== null && found.value.expiresAt > this.#session.now() ? found.value : null;
  }

  /** Returns the sealed {@link SessionState} of a session; null if {@link get} returns null. */
  async stateOf(account: string, uuid: string): Promise<SealedSecrets | null> {
    if ((await this.get(account, uuid)) === null) return null;
    return (await this.#entries.get<SealedSecrets>(stateKey(account, uuid)))?.value ?? null;
  }

  /** Returns the sessions of an account, newest first. Any replica may answer, so a new session may be missing. */
  async list(account: string): Promise<readonly SessionRecord[]> {
    const keys = await keysMatching(this.#session, 'db', sessionKey(account, '*'));
    const found = await readMany<SessionRecord>(this.#session, 'db', keys);
    const valid = [...found.values()].filter(({ expiresAt }) => expiresAt > this.#session.now());
    return valid.toSorted((one, other) => (one.uuid < other.uuid ? 1 : -1));
  }

  /** Writes a new session. Only the first call writes it, because two fronts may settle the same login at different times. */
  async create(record: SessionRecord, state: SealedSecrets): Promise<void> {
    const { account, uuid, expiresAt } = record;
    const ttlSeconds = Math.max(1, Math.ceil((expiresAt - this.#session.now()) / 1000));
    await this.#writeOnce(stateKey(account, uuid), state, ttlSeconds);
    await this.#writeOnce(sessionKey(account, uuid), record, ttlSeconds);
  }

  /** Writes a key that has never been written. A session that was deleted in the meantime is not written again. */
  async #writeOnce(key: string, value: unknown, ttlSeconds: number): Promise<void> {
    try {
      await this.#entries.update(key, value, 0, { ttlSeconds });
    } catch (error) {
      if (!isWriteConflict(error)) throw error;
    }
  }

  async delete({ account, uuid }: Pick<SessionRecord, 'account' | 'uuid'>): Promise<void> {
    await this.#entries.delete(sessionKey(account, uuid));
    await this.#entries.delete(stateKey(account, uuid));
  }
}

/** Keys in `KV_db`. */
const sessionKey = (account: string, uuid: string) => `session.${account}.${uuid}`;
const stateKey = (account: string, uuid: string) => `sessionstate.${account}.${uuid}`;
