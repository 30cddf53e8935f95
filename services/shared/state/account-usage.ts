import type { CaptureRecord } from '../contract/capture-record.ts';
import type { NatsSession } from '../nats/connect.ts';
import { Entries } from '../nats/entries.ts';
import { readMany } from '../nats/read-many.ts';
import type { UsageSum } from './admission.ts';
import { captureKey, isOpen } from './captures.ts';
import { monthOf, noUsage, sum, usageShards, type Usage } from './usage.ts';

/**
 * `rough`: in one request, of any replica, so perhaps a moment behind. `exact`: as the leader knows it, in one request
 * for each shard.
 */
export type Precision = 'rough' | 'exact';

/** What the books say of an account: the sum of its shards of a month. */
export class AccountUsage {
  readonly #session: NatsSession;
  readonly #db: Entries;

  constructor(session: NatsSession) {
    this.#session = session;
    this.#db = new Entries(session, 'db');
  }

  /** The usage of the month, in UTC, that `now` (Unix ms) lies in. */
  async read(account: string, now: number, precision: Precision): Promise<UsageSum> {
    const prefix = `usage.${account}.${monthOf(now)}.`;
    const keys = Array.from({ length: usageShards }, (_, shard) => prefix + shard);
    const shards =
      precision === 'rough'
        ? [...(await readMany<Usage>(this.#session, 'db', keys)).values()]
        : (await Promise.all(keys.map((key) => this.#db.get<Usage>(key)))).map((entry) => entry?.value ?? noUsage);
    const { tokens } = shards.reduce(sum, noUsage);
    return { tokens, reserved: 0, queued: 0 };
  }

  /** Which of these captures of the account have ended, and so are charged if they ever will be. */
  async endedOf(account: string, uuids: readonly string[]): Promise<readonly string[]> {
    const keys = new Map(uuids.map((uuid) => [captureKey(account, uuid), uuid]));
    const records = await readMany<CaptureRecord>(this.#session, 'db', [...keys.keys()]);
    return [...records].flatMap(([key, record]) => (isOpen(record) ? [] : (keys.get(key) ?? [])));
  }
}
