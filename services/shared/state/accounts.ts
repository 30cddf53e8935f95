import type { NatsSession } from '../nats/connect.ts';
import { Entries, type Entry } from '../nats/entries.ts';

/** Whom a capture belongs to. Times are Unix milliseconds. */
export interface AccountRecord {
  readonly id: string;
  readonly name: string;
  readonly createdAt: number;
}

export class Accounts {
  readonly #db: Entries;

  constructor(session: NatsSession) {
    this.#db = new Entries(session, 'db');
  }

  async get(id: string): Promise<Entry<AccountRecord> | null> {
    return this.#db.get<AccountRecord>(`account.${id}`);
  }

  async put(record: AccountRecord): Promise<void> {
    await this.#db.put(`account.${record.id}`, record);
  }
}
