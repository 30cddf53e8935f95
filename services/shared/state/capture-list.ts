import type { CaptureRecord } from '../contract/capture-record.ts';
import type { CaptureStatus } from '../contract/capture-result.ts';
import { statusOf } from '../contract/capture-view.ts';
import { countKeys } from '../nats/key-page.ts';
import type { NatsSession } from '../nats/connect.ts';
import { readMany } from '../nats/read-many.ts';
import { captureKey, capturesOfDay } from './captures.ts';
import { dayMs, DayKeys } from './day-keys.ts';
import { firstUuidOf, timeOfUuid } from './uuid.ts';

export interface CaptureListAsk {
  /** The most records to answer. */
  readonly limit: number;
  /** A UUIDv7: only captures that come before it. */
  readonly cursor?: string | undefined;
  /** Only captures that a client would be told to stand so. */
  readonly status?: CaptureStatus | undefined;
  /** Unix ms: nothing of the account is older. */
  readonly since: number;
  /** Unix ms. */
  readonly now: number;
}

export interface CaptureListPart {
  /** Newest first; fewer than the limit, or none, also when the scan came to its bounds. */
  readonly records: readonly CaptureRecord[];
  /** The cursor of the next part; null: there are no more. */
  readonly nextCursor: string | null;
}

/** What one request may look at before it answers with what it has. */
export interface ScanBounds {
  readonly days: number;
  readonly records: number;
}

/** Days asked at once while nothing is found, and records read at once. */
const widest = { days: 16, records: 500 };

/** By so much the clocks of fronts may differ: captures can be a little newer than now, and older than their account. */
const skewMs = 60_000;

/** The captures of an account, newest first: day by day from the newest, never all keys at once. */
export class CaptureList {
  readonly #session: NatsSession;
  readonly #bounds: ScanBounds;
  readonly #days: DayKeys;

  /** `now` in Unix milliseconds: by it days are over. */
  constructor(session: NatsSession, bounds: ScanBounds = { days: 400, records: 2000 }, now: () => number = Date.now) {
    this.#session = session;
    this.#bounds = bounds;
    this.#days = new DayKeys(session, now);
  }

  /** One part of the list. Throws when NATS does not answer. */
  async list(account: string, ask: CaptureListAsk): Promise<CaptureListPart> {
    const { limit, cursor, status, since, now } = ask;
    const records: CaptureRecord[] = [];
    const part = (nextCursor: string | null) => ({ records: records.slice(0, limit), nextCursor });
    // One more than fits tells whether there is a next part. How many a filter lets through is not known.
    const wanted = () => (status === undefined ? limit + 1 - records.length : widest.records);
    const left = { ...this.#bounds };
    const lastDay = dayOf(since - skewMs);
    for (let day = firstDay(cursor, now), width = 1; day >= lastDay;) {
      const edge = firstUuidOf((day + 1) * dayMs);
      if (left.days === 0) return part(edge);
      const most = Math.min(width, left.days, day - lastDay + 1);
      const { passed, days } = await this.#daysWith(wanted(), account, day, most);
      // One more than may be read tells that the days are not done with.
      const within = { before: cursor, most: left.records + 1 };
      const uuids = (await Promise.all(days.map((each) => this.#days.uuidsOf(account, each * dayMs, within)))).flat();
      width = uuids.length >= wanted() ? 1 : Math.min(2 * width, widest.days);
      for (let start = 0, size = limit; start < uuids.length; start += size) {
        if (left.records === 0) return part(uuids[start - 1] ?? edge);
        size = Math.min(status === undefined ? wanted() : 2 * size, widest.records, left.records);
        const read = uuids.slice(start, start + size);
        records.push(...(await this.#read(account, read, ask)));
        if (records.length > limit) return part(records[limit - 1]?.uuid ?? null);
        left.records -= read.length;
      }
      left.days -= passed;
      day -= passed;
    }
    return part(null);
  }

  /**
   * Goes from `day` into the past until there are as many captures as wanted, or past `most` days. `days`: those passed
   * that have any, newest first.
   */
  async #daysWith(wanted: number, account: string, day: number, most: number) {
    if (most === 1) return { passed: 1, days: [day] };
    const all = Array.from({ length: most }, (_, index) => day - index);
    const counts = await Promise.all(
      all.map((each) => countKeys(this.#session, 'db', `${capturesOfDay(account, each * dayMs)}*`)),
    );
    let sum = 0;
    const enough = counts.findIndex((count) => (sum += count) >= wanted);
    const passed = enough === -1 ? most : enough + 1;
    return { passed, days: all.filter((_, index) => index < passed && counts[index] !== 0) };
  }

  /** The records of these captures, as far as they are there and stand as asked. */
  async #read(account: string, uuids: readonly string[], { status, now }: CaptureListAsk): Promise<CaptureRecord[]> {
    const keys = uuids.map((uuid) => captureKey(account, uuid));
    const records = await readMany<CaptureRecord>(this.#session, 'db', keys);
    return keys
      .flatMap((key) => records.get(key) ?? [])
      .filter((record) => status === undefined || statusOf(record, now) === status);
  }
}

/** The newest day that can have something for this part. */
function firstDay(cursor: string | undefined, now: number): number {
  const today = dayOf(now + skewMs);
  if (cursor === undefined) return today;
  const day = dayOf(timeOfUuid(cursor) ?? 0);
  // The edge at which a scan stopped has nothing of its day before it.
  return Math.min(today, cursor === firstUuidOf(day * dayMs) ? day - 1 : day);
}

const dayOf = (time: number) => Math.floor(time / dayMs);
