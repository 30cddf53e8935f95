import type { CaptureRecord } from '../captures/capture-record.ts';
import { captureKey } from '../captures/captures.ts';
import { backgroundWaitMs, monthOf, periodOf } from '../captures/times.ts';
import { isOpen } from '../captures/transitions.ts';
import { noUsage, sum, type Usage, usageShards } from '../captures/usage.ts';
import type { NatsSession } from '../nats/connect.ts';
import { Entries } from '../nats/entries.ts';
import { readMany } from '../nats/read-many.ts';
import type { UsageSum } from './admission.ts';

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
   * Which of these holds on places need not be counted any more: the books have their captures, because they have ended
   * or because what they wait with is set aside there. A hold is named after its capture, that of a refresh
   * `<uuid>:<revision>`.
   */
  async bookedOf(account: string, holds: readonly string[]): Promise<readonly string[]> {
    const uuids = new Set(holds.map((hold) => holdOf(hold).uuid));
    const keys = [...uuids].map((uuid) => captureKey(account, uuid));
    const records = await readMany<CaptureRecord>(this.#session, 'db', keys);
    return holds.filter((hold) => {
      const { uuid, revision } = holdOf(hold);
      const record = records.get(captureKey(account, uuid));
      if (record === undefined) return false;
      if (revision !== 0) return (record.refresh?.revision ?? 0) >= revision;
      return record.lane === 'background' || !isOpen(record);
    });
  }
}

/** The name of the hold of a refresh; that of a capture is its uuid. */
export const refreshReservation = (uuid: string, revision: number) => `${uuid}:${revision}`;

function holdOf(hold: string): { readonly uuid: string; readonly revision: number } {
  const [uuid = hold, revision = '0'] = hold.split(':');
  return { uuid, revision: Number(revision) };
}
