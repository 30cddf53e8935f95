import type { NatsSession } from '../nats/connect.ts';
import { changeEntry, Entries } from '../nats/entries.ts';
import type { CallLimits } from '../nats/retry.ts';
import type { BatchRecord } from './batch-record.ts';
import { timeOfUuid } from './uuid.ts';

/** The records of batches, changed by compare-and-set. The server removes them after `keepUntil`. Methods throw the errors of NATS. */
export class Batches {
  readonly #entries: Entries;
  readonly #now: () => number;

  constructor(session: NatsSession) {
    this.#entries = new Entries(session, 'db');
    this.#now = session.now;
  }

  /** Returns null if the account has no batch of that uuid. */
  async get(account: string, uuid: string): Promise<BatchRecord | null> {
    if (timeOfUuid(uuid) === null) return null;
    return (await this.#entries.get<BatchRecord>(batchKey(account, uuid)))?.value ?? null;
  }

  /** Writes a new record. A repetition has no further effect. */
  async create(record: BatchRecord, limits?: CallLimits): Promise<void> {
    await this.#change(record, (found) => found ?? record, limits);
  }

  /**
   * Changes a record if it exists. `next` returns the same object to keep the record, or null to delete it. Returns the resulting record.
   */
  change(
    { account, uuid }: Pick<BatchRecord, 'account' | 'uuid'>,
    next: (record: BatchRecord) => BatchRecord | null,
  ): Promise<BatchRecord | null> {
    return this.#change({ account, uuid }, (found) => found && next(found));
  }

  #change(
    { account, uuid }: Pick<BatchRecord, 'account' | 'uuid'>,
    next: (record: BatchRecord | null) => BatchRecord | null,
    limits?: CallLimits,
  ): Promise<BatchRecord | null> {
    const ttlSeconds = ({ keepUntil }: BatchRecord) => Math.max(1, Math.ceil((keepUntil - this.#now()) / 1000));
    return changeEntry(this.#entries, batchKey(account, uuid), next, ttlSeconds, limits);
  }
}

/** Returns the key of a batch in `KV_db`. */
const batchKey = (account: string, uuid: string) => `batch.${account}.${uuid}`;
