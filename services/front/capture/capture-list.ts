import { LRUCache } from 'lru-cache';
import type { CaptureStatus } from '@webcapture/shared/api/capture.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { allKeys, countKeys, readBatch, readMany } from '@webcapture/shared/nats/read-many.ts';
import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import { captureKey, capturesOfDay } from '@webcapture/shared/captures/captures.ts';
import { firstUuidOf, timeOfUuid } from '@webcapture/shared/captures/uuid.ts';
import { statusOf } from '@webcapture/shared/captures/view.ts';

export interface CaptureListAsk {
  /** How many records to answer at most. */
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

interface CaptureListPart {
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
const maxAtOnce = { days: 16, records: 500 };

/** By so much the clocks of fronts may differ: captures can be a little newer than now, and older than their account. */
const skewMs = 60_000;

/** The captures of an account, newest first: day by day from the newest, never all keys at once. */
export class CaptureList {
  readonly #session: NatsSession;
  readonly #bounds: ScanBounds;
  readonly #days: DayKeys;

  /** `now` in Unix milliseconds: by it days are over. */
  constructor(session: NatsSession, bounds: ScanBounds = { days: 400, records: 2000 }, now = session.now) {
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
    const wanted = () => (status === undefined ? limit + 1 - records.length : maxAtOnce.records);
    const left = { ...this.#bounds };
    const lastDay = dayOf(since - skewMs);
    for (let day = firstDay(cursor, now), width = 1; day >= lastDay;) {
      const edge = firstUuidOf((day + 1) * dayMs);
      if (left.days === 0) return part(edge);
      const maxDays = Math.min(width, left.days, day - lastDay + 1);
      const { passed, days } = await this.#daysWith(wanted(), account, day, maxDays);
      // One more than may be read tells that the days are not done with.
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
   * Goes from `day` into the past until there are as many captures as wanted, or past `maxDays` days. `days`: those passed
   * that have any, newest first.
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

export const dayMs = 86_400_000;

/** Smaller days are asked for anew each time: that is quick. */
const minKeys = 2000;

/** Of all days that are kept together: some 40 MB. */
const maxKeys = 300_000;

/** Records go in time: a day is asked for anew after this long. */
const keepMs = 600_000;

/** So long after its time a capture has its record, whatever the clocks of fronts. */
const settleMs = 120_000;

/** Records read, at once and in all, to find what is new since a day was asked for. */
const newRecords = { atOnce: 1000, max: 4000 };

interface Day {
  /** Newest first. */
  readonly uuids: readonly string[];
  /** When all of it was asked for, Unix ms. */
  readonly askedAt: number;
  /** Stream sequence: captures written up to it are there. */
  readonly sequence: number;
}

/**
 * The uuids of an account's captures of a day. A day of a hundred thousand takes the server and the reader of its
 * answer 200 ms, whichever part of it is wanted: so the big ones are kept in memory, and only what is new is asked for.
 */
class DayKeys {
  readonly #session: NatsSession;
  readonly #now: () => number;
  readonly #kept: LRUCache<string, Day>;
  readonly #asking = new Map<string, Promise<Day>>();

  /** `now` in Unix milliseconds, by the clock of the servers. */
  constructor(session: NatsSession, now: () => number) {
    this.#session = session;
    this.#now = now;
    // A day that is larger than all may be is asked for each time: that takes long, but no memory for good.
    this.#kept = new LRUCache({ maxSize: maxKeys, sizeCalculation: ({ uuids }) => uuids.length });
  }

  /** Newest first, and only those before a uuid where one is given; at most so many. `dayStart` in Unix ms. */
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

  /** The day with what has come to it since; null when that is too much. */
  async #renew(prefix: string, day: Day): Promise<Day | null> {
    const written = new Set<string>();
    for (let { sequence } = day; ;) {
      const { keys, last } = await this.#writtenAfter(sequence, prefix);
      for (const key of keys) written.add(key);
      // Any replica answers, perhaps one that is behind: only what it knew has been seen.
      sequence = last;
      if (keys.length < newRecords.atOnce) return { ...day, sequence, uuids: merged(day.uuids, written, prefix) };
      if (written.size >= newRecords.max) return null;
    }
  }

  /** Keys written after that stream sequence, new or not, and the sequence of the last of them. */
  async #writtenAfter(sequence: number, prefix: string): Promise<{ keys: string[]; last: number }> {
    const bucket = '$KV.db.';
    const messages = await readBatch(this.#session, 'KV_db', {
      seq: sequence + 1,
      next_by_subj: `${bucket}${prefix}*`,
      batch: newRecords.atOnce,
    });
    const keys = messages.map(({ subject }) => subject.slice(bucket.length));
    return { keys, last: messages.at(-1)?.seq ?? sequence };
  }
}

/** The uuids with those of the keys that are not among them. */
function merged(uuids: readonly string[], keys: Iterable<string>, prefix: string): readonly string[] {
  const fresh = newestFirst([...keys], prefix).filter((uuid) => uuids[indexBelow(uuids, uuid) - 1] !== uuid);
  if (fresh.length === 0) return uuids;
  const [newest = ''] = uuids;
  const all = [...fresh, ...uuids];
  return fresh.every((uuid) => uuid > newest) ? all : all.toSorted().toReversed();
}

/** Bare uuids, sorted. */
function newestFirst(keys: readonly string[], prefix: string): string[] {
  return keys
    .map((key) => key.slice(prefix.length))
    .toSorted()
    .toReversed();
}

/** Where in a list, newest first, the uuids begin that come before the given one. */
function indexBelow(uuids: readonly string[], before: string): number {
  let [low, high] = [0, uuids.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((uuids[middle] ?? '') < before) high = middle;
    else low = middle + 1;
  }
  return low;
}
