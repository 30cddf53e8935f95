import { maxLifetimeSeconds } from '../api/option-schemas.ts';
import type { CaptureRecord } from '../captures/capture-record.ts';
import { captureKey } from '../captures/captures.ts';
import { backgroundWaitMs, monthOf, periodOf } from '../captures/times.ts';
import { isOpen } from '../captures/transitions.ts';
import { noUsage, persistedPeriod, sum, type Usage, usageShards } from '../captures/usage.ts';
import type { NatsSession } from '../nats/connect.ts';
import { Entries } from '../nats/entries.ts';
import { readMany } from '../nats/read-many.ts';

/**
 * `rough` uses one request, which any replica may answer, so the result may be slightly outdated. `exact` uses one request to the leader
 * for each shard.
 */
type Precision = 'rough' | 'exact';

/** Reads the usage and the stored bytes of an account, which are the sums of the shards of the usage ledger. */
export class AccountUsage {
  readonly #session: NatsSession;
  readonly #db: Entries;

  constructor(session: NatsSession) {
    this.#session = session;
    this.#db = new Entries(session, 'db');
  }

  /**
   * Returns the tokens and captures of the month (in UTC) that contains `now` (Unix ms), and what is queued and stored now. The bytes of
   * persisted files, and of files of earlier months, are always `rough`.
   */
  async read(account: string, now: number, precision: Precision): Promise<Usage> {
    const [month = '', ...earlier] = monthsOfFiles(now);
    // Captures that were queued in the last hours of the previous month are charged to that month, but still wait in this month.
    const queuedSince = now - periodOf(now).start > 2 * backgroundWaitMs ? [] : earlier.slice(0, 1);
    const exact = precision === 'exact' ? [month, ...queuedSince] : [];
    const rough = [month, ...earlier, persistedPeriod].filter((period) => !exact.includes(period));
    const shards = await this.#shards(account, { exact, rough });
    const sumOf = (periods: readonly string[]) =>
      periods.flatMap((period) => shards.get(period) ?? []).reduce(sum, noUsage);
    const current = sumOf([month]);
    const waiting = sumOf([month, ...queuedSince]);
    const files = sumOf([month, ...earlier]);
    const persisted = sumOf([persistedPeriod]);
    return {
      ...current,
      queued: waiting.queued,
      queuedBytes: waiting.queuedBytes,
      storedBytes: files.storedBytes,
      persistedBytes: persisted.persistedBytes,
      keptHtmlBytes: persisted.keptHtmlBytes,
    };
  }

  /** Reads the shards of some periods: from the leader, or all of them in one request from any replica. */
  async #shards(
    account: string,
    { exact, rough }: { readonly exact: readonly string[]; readonly rough: readonly string[] },
  ): Promise<ReadonlyMap<string, readonly Usage[]>> {
    const keysOf = (period: string) =>
      Array.from({ length: usageShards }, (_, shard) => `usage.${account}.${period}.${shard}`);
    const [roughly, ...exactly] = await Promise.all([
      readMany<Usage>(this.#session, 'db', rough.flatMap(keysOf)),
      ...exact.map((period) => Promise.all(keysOf(period).map((key) => this.#db.get<Usage>(key)))),
    ]);
    return new Map([
      ...rough.map((period) => [period, keysOf(period).map((key) => roughly.get(key) ?? noUsage)] as const),
      ...exact.map(
        (period, index) => [period, (exactly[index] ?? []).map((entry) => entry?.value ?? noUsage)] as const,
      ),
    ]);
  }

  /**
   * Returns the names of those reservations that no longer count because the ledger contains their captures. Such a capture has ended, or
   * it waits and the ledger has reserved its tokens.
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
        ? record.priority === 'background' || !isOpen(record)
        : (record.refresh?.revision ?? 0) >= refreshNumber;
    return captures.flatMap(({ name, key, refreshNumber }) => {
      const record = records.get(key);
      return record !== undefined && isInLedger(record, refreshNumber) ? name : [];
    });
  }
}

/** Maximum age of a file that expires. It lives for at most 30 days from the end of its capture, which may wait for a day. */
const maxFileAgeMs = 1000 * maxLifetimeSeconds + backgroundWaitMs;

/** Returns the months in which captures were accepted whose files may still exist: this month first, then one or two before it. */
function monthsOfFiles(now: number): readonly string[] {
  const months: string[] = [];
  for (let time = now; time >= periodOf(now - maxFileAgeMs).start; time = periodOf(time).start - 1)
    months.push(monthOf(time));
  return months;
}

/** Returns the name of the reservation of a refresh. The name of the reservation of a capture is its uuid. */
export const refreshReservation = (uuid: string, refreshNumber: number) => `${uuid}:${refreshNumber}`;
