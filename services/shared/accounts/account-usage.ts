import type { CaptureRecord } from '../captures/capture-record.ts';
import { captureKey } from '../captures/captures.ts';
import { backgroundWaitMs, monthOf, periodOf } from '../captures/times.ts';
import { isOpen } from '../captures/transitions.ts';
import { noUsage, sum, type Usage, usageShards } from '../captures/usage.ts';
import type { NatsSession } from '../nats/connect.ts';
import { Entries } from '../nats/entries.ts';
import { readMany } from '../nats/read-many.ts';
import type { UsageSum } from './limits.ts';

/**
 * `rough`: in one request, of any replica, so perhaps a moment behind. `exact`: as the leader knows it, in one request
 * for each shard.
 */
type Precision = 'rough' | 'exact';

/** What an account has used: the sum of the shards of the usage ledger of a month. */
export class AccountUsage {
  readonly #session: NatsSession;
  readonly #db: Entries;

  constructor(session: NatsSession) {
    this.#session = session;
    this.#db = new Entries(session, 'db');
  }

  /** The usage of the month, in UTC, that `now` (Unix ms) lies in. */
  async read(account: string, now: number, precision: Precision): Promise<UsageSum> {
    const { start } = periodOf(now);
    const month = await this.#month(account, start, precision);
    // What was queued in the last hours of a month is charged to it, but waits in this one.
    if (now - start > 2 * backgroundWaitMs) return month;
    const before = await this.#month(account, start - 1, precision);
    return { ...month, queued: month.queued + before.queued };
  }

  async #month(account: string, time: number, precision: Precision): Promise<Usage> {
    const prefix = `usage.${account}.${monthOf(time)}.`;
    const keys = Array.from({ length: usageShards }, (_, shard) => prefix + shard);
    const shards =
      precision === 'rough'
        ? [...(await readMany<Usage>(this.#session, 'db', keys)).values()]
        : (await Promise.all(keys.map((key) => this.#db.get<Usage>(key)))).map((entry) => entry?.value ?? noUsage);
    return shards.map((shard) => ({ ...noUsage, ...shard })).reduce(sum, noUsage);
  }

  /**
   * Which of these reservations, by their names, need not be counted any more: the ledger has their captures, which have
   * ended, or wait with their tokens reserved there.
   */
  async inLedger(account: string, reservations: readonly string[]): Promise<readonly string[]> {
    const captures = reservations.map((name) => {
      const [uuid = name, refreshNumber = '0'] = name.split(':');
      return { name, key: captureKey(account, uuid), refreshNumber: Number(refreshNumber) };
    });
    const keys = [...new Set(captures.map(({ key }) => key))];
    const records = await readMany<CaptureRecord>(this.#session, 'db', keys);
    const isInLedger = (record: CaptureRecord, refreshNumber: number) =>
      refreshNumber === 0
        ? record.lane === 'background' || !isOpen(record)
        : (record.refresh?.revision ?? 0) >= refreshNumber;
    return captures.flatMap(({ name, key, refreshNumber }) => {
      const record = records.get(key);
      return record !== undefined && isInLedger(record, refreshNumber) ? name : [];
    });
  }
}

/** The name of the reservation of a refresh; that of a capture is its uuid. */
export const refreshReservation = (uuid: string, refreshNumber: number) => `${uuid}:${refreshNumber}`;
