import { LRUCache } from 'lru-cache';
import type { CaptureStatus } from '@webcapture/shared/api/capture.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { allKeys, countKeys, readBatch, readMany } from '@webcapture/shared/nats/read-many.ts';
import { keySubject, streamNames } from '@webcapture/shared/nats/streams.ts';
import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import { captureKey, capturesOfDay } from '@webcapture/shared/captures/captures.ts';
import { firstUuidOf, timeOfUuid } from '@webcapture/shared/captures/uuid.ts';
import { statusOf } from '@webcapture/shared/captures/view.ts';

export interface CaptureListAsk {
  /** Maximum number of records. */
  readonly limit: number;
  /** A UUIDv7. Only captures that were created before it are listed. */
  readonly cursor?: string | undefined;
  /** Lists only captures that have this status in the view of clients. */
  readonly status?: CaptureStatus | undefined;
  /** Unix milliseconds: the account has no older captures. */
  readonly since: number;
  /** Unix milliseconds. */
  readonly now: number;
}

interface CaptureListPart {
  /** The newest records come first. There may be fewer than the limit, or none, if the scan has reached its bounds. */
  readonly records: readonly CaptureRecord[];
  /** Cursor of the next page; null if there are no more. */
  readonly nextCursor: string | null;
}

/** Limits of the scan that one request causes. */
export interface ScanBounds {
  readonly days: number;
  readonly records: number;
}

/** Maximum number of days counted concurrently while nothing is found, and of records read concurrently. */
const maxAtOnce = { days: 16, records: 500 };

/** Maximum difference between the clocks of the fronts. A capture can therefore seem to be newer than now, or older than its account. */
const skewMs = 60_000;

/** Lists the captures of an account, newest first. Scans day by day, so that it never reads all keys at once. */
export class CaptureList {
  readonly #session: NatsSession;
  readonly #bounds: ScanBounds;
  readonly #days: DayKeys;

  /** `now` in Unix milliseconds; it determines the current day. */
  constructor(session: NatsSession, bounds: ScanBounds = { days: 400, records: 2000 }, now = session.now) {
    this.#session = session;
    this.#bounds = bounds;
    this.#days = new DayKeys(session, now);
  }

  /** Returns one page of the list. Throws if NATS does not answer. */
  async list(account: string, ask: CaptureListAsk): Promise<CaptureListPart> {
    const { limit, cursor, status, since, now } = ask;
    const records: CaptureRecord[] = [];
    const part = (nextCursor: string | null) => ({ records: records.slice(0, limit), nextCursor });
    // One record more than the limit shows whether there is a next page. With a filter, it is unknown how many records match.
    const wanted = () => (status === undefined ? limit + 1 - records.length : maxAtOnce.records);
    const left = { ...this.#bounds };
    const lastDay = dayOf(since - skewMs);
    for (let day = firstDay(cursor, now), width = 1; day >= lastDay;) {
      const edge = firstUuidOf((day + 1) * dayMs);
      if (left.days === 0) return part(edge);
      const maxDays = Math.min(width, left.days, day - lastDay + 1);
      const { passed, days } = await this.#daysWith(wanted(), account, day, maxDays);
      // One key more than the maximum shows whether the days contain more captures.
      const within = { before: cursor, max: left.records + 1 };
      const uuids = (await Promise.all(days.map((each) => this.#days.uuidsOf(account, each * dayMs, within)))).flat();
      width = uuids.length >= wanted() ? 1 : Math.min(2 * width, maxAtOnce.days);
      for (let start = 0, size = limit; start < uuids.length; start += size) {
        if (left.records === 0) return part(uuids[start - 1] ?? edge);
        size = Math.min(status === undefined ? wanted() : 2 * size, maxAtOnce.records, left.records);
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
   * Counts captures from `day` into the past until there are `wanted`, or for `maxDays` days. Returns the number of days that were counted,
   * and the days with captures, newest first.
   */
  async #daysWith(wanted: number, account: string, day: number, maxDays: number) {
    if (maxDays === 1) return { passed: 1, days: [day] };
    const all = Array.from({ length: maxDays }, (_, index) => day - index);
    const counts = await Promise.all(
      all.map((each) => countKeys(this.#session, 'db', `${capturesOfDay(account, each * dayMs)}*`)),
    );
    let sum = 0;
    const enough = counts.findIndex((count) => (sum += count) >= wanted);
    const passed = enough === -1 ? maxDays : enough + 1;
    return { passed, days: all.filter((_, index) => index < passed && counts[index] !== 0) };
  }

  /** Reads the records of these captures; omits missing ones and those with another status. */
  async #read(account: string, uuids: readonly string[], { status, now }: CaptureListAsk): Promise<CaptureRecord[]> {
    const keys = uuids.map((uuid) => captureKey(account, uuid));
    const records = await readMany<CaptureRecord>(this.#session, 'db', keys);
    return keys
      .flatMap((key) => records.get(key) ?? [])
      .filter((record) => status === undefined || statusOf(record, now) === status);
  }
}

/** Returns the newest day that can contain captures of this page. */
function firstDay(cursor: string | undefined, now: number): number {
  const today = dayOf(now + skewMs);
  if (cursor === undefined) return today;
  const day = dayOf(timeOfUuid(cursor) ?? 0);
  // If a scan has stopped at the boundary of a day, that day has no captures before the cursor.
  return Math.min(today, cursor === firstUuidOf(day * dayMs) ? day - 1 : day);
}

const dayOf = (time: number) => Math.floor(time / dayMs);

export const dayMs = 86_400_000;

/** Minimum number of keys of a day that is cached. Smaller days are read each time, which is fast. */
const minKeys = 2000;

/** Maximum number of keys of all cached days: about 40 MB. */
const maxKeys = 300_000;

/** Maximum age of a cached day. It is limited because records expire. */
const keepMs = 600_000;

/** Maximum time between the acceptance of a capture and its record, including clock differences of fronts. */
const settleMs = 120_000;

/** Maximum number of records read, at once and in total, to find the captures added to a cached day. */
const newRecords = { atOnce: 1000, max: 4000 };

interface Day {
  /** The newest uuid comes first. */
  readonly uuids: readonly string[];
  /** When the whole day was read, Unix milliseconds. */
  readonly askedAt: number;
  /** Stream sequence: captures written up to it are included. */
  readonly sequence: number;
}

/**
 * The uuids of an account's captures by day. Listing the keys of a day with 100,000 captures takes the server and the client 200 ms, even
 * if few of them are needed. Therefore large days are cached, and only new captures are read.
 */
class DayKeys {
  readonly #session: NatsSession;
  readonly #now: () => number;
  readonly #kept: LRUCache<string, Day>;
  readonly #asking = new Map<string, Promise<Day>>();

  /** `now` in Unix milliseconds by the clock of the servers. */
  constructor(session: NatsSession, now: () => number) {
    this.#session = session;
    this.#now = now;
    // A day larger than the whole cache is read each time, which is slow but bounds the memory.
    this.#kept = new LRUCache({ maxSize: maxKeys, sizeCalculation: ({ uuids }) => uuids.length });
  }

  /** Returns at most `max` uuids of a day, newest first, optionally only those before a uuid. `dayStart` in Unix milliseconds. */
  async uuidsOf(account: string, dayStart: number, part: { before?: string | undefined; max: number }) {
    const { before, max } = part;
    const prefix = capturesOfDay(account, dayStart);
    const until = Math.min(dayStart + dayMs, timeOfUuid(before ?? '') ?? Number.POSITIVE_INFINITY);
    const day = await this.#dayUntil(prefix, until);
    if (day.uuids.length >= minKeys) this.#kept.set(prefix, day);
    else this.#kept.delete(prefix);
    const start = before === undefined ? 0 : indexBelow(day.uuids, before);
    return day.uuids.slice(start, start + max);
  }

  async #dayUntil(prefix: string, until: number): Promise<Day> {
    await this.#asking.get(prefix);
    const kept = this.#kept.get(prefix);
    if (kept === undefined || this.#now() - kept.askedAt > keepMs) return this.#ask(prefix);
    if (until < kept.askedAt - settleMs) return kept;
    return (await this.#renew(prefix, kept)) ?? this.#ask(prefix);
  }

  #ask(prefix: string): Promise<Day> {
    const askedAt = this.#now();
    const asking = allKeys(this.#session, 'db', `${prefix}*`)
      .then(({ keys, sequence }) => ({ uuids: newestFirst(keys, prefix), askedAt, sequence }))
      .finally(() => this.#asking.delete(prefix));
    this.#asking.set(prefix, asking);
    return asking;
  }

  /** Adds the captures that were written since the day was cached. Returns null if there are too many. */
  async #renew(prefix: string, day: Day): Promise<Day | null> {
    const written = new Set<string>();
    for (let { sequence } = day; ;) {
      const { keys, last } = await this.#writtenAfter(sequence, prefix);
      for (const key of keys) written.add(key);
      // An outdated replica may have answered. The next read continues after the last message that it returned.
      sequence = last;
      if (keys.length < newRecords.atOnce) return { ...day, sequence, uuids: merged(day.uuids, written, prefix) };
      if (written.size >= newRecords.max) return null;
    }
  }

  /** Returns the keys written after a stream sequence, new or updated, and the sequence of the last one. */
  async #writtenAfter(sequence: number, prefix: string): Promise<{ keys: string[]; last: number }> {
    const bucket = keySubject('db', '');
    const messages = await readBatch(this.#session, streamNames.db, {
      seq: sequence + 1,
      next_by_subj: `${bucket}${prefix}*`,
      batch: newRecords.atOnce,
    });
    const keys = messages.map(({ subject }) => subject.slice(bucket.length));
    return { keys, last: messages.at(-1)?.seq ?? sequence };
  }
}

/** Adds the uuids of the keys that are not in the list yet. */
function merged(uuids: readonly string[], keys: Iterable<string>, prefix: string): readonly string[] {
  const fresh = newestFirst([...keys], prefix).filter((uuid) => uuids[indexBelow(uuids, uuid) - 1] !== uuid);
  if (fresh.length === 0) return uuids;
  const [newest = ''] = uuids;
  const all = [...fresh, ...uuids];
  return fresh.every((uuid) => uuid > newest) ? all : all.toSorted().toReversed();
}

/** Returns the uuids of the keys, newest first. */
function newestFirst(keys: readonly string[], prefix: string): string[] {
  return keys
    .map((key) => key.slice(prefix.length))
    .toSorted()
    .toReversed();
}

/** Returns the index of the first uuid before the given one, in a list that is sorted newest first. */
function indexBelow(uuids: readonly string[], before: string): number {
  let [low, high] = [0, uuids.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((uuids[middle] ?? '') < before) high = middle;
    else low = middle + 1;
  }
  return low;
}
