import type { NatsSession } from '../nats/connect.ts';
import { allKeys } from '../nats/key-page.ts';
import { readBatch } from '../nats/read-batch.ts';
import { capturesOfDay } from './captures.ts';
import { timeOfUuid } from './uuid.ts';

export const dayMs = 86_400_000;

/** Smaller days are asked for anew each time: that is quick. */
const manyKeys = 2000;

/** Of all days that are kept together: some 40 MB. */
const mostKeys = 300_000;

/** Records go in time: a day is asked for anew after this long. */
const keepMs = 600_000;

/** So long after its time a capture has its record, whatever the clocks of fronts. */
const settleMs = 120_000;

/** Records read, at once and in all, to find what is new since a day was asked for. */
const newRecords = { atOnce: 1000, most: 4000 };

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
export class DayKeys {
  readonly #session: NatsSession;
  readonly #now: () => number;
  /** In the order of their last use. */
  readonly #kept = new Map<string, Day>();
  readonly #asking = new Map<string, Promise<Day>>();

  /** `now` in Unix milliseconds, by the clock of the servers. */
  constructor(session: NatsSession, now: () => number = Date.now) {
    this.#session = session;
    this.#now = now;
  }

  /** Newest first, and only those before a uuid where one is given; at most so many. `dayStart` in Unix ms. */
  async uuidsOf(account: string, dayStart: number, part: { before?: string | undefined; most: number }) {
    const { before, most } = part;
    const prefix = capturesOfDay(account, dayStart);
    const until = Math.min(dayStart + dayMs, timeOfUuid(before ?? '') ?? Number.POSITIVE_INFINITY);
    const day = await this.#dayUntil(prefix, until);
    this.#keep(prefix, day);
    const start = before === undefined ? 0 : indexBelow(day.uuids, before);
    return day.uuids.slice(start, start + most);
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
      if (written.size >= newRecords.most) return null;
    }
  }

  #keep(prefix: string, day: Day): void {
    this.#kept.delete(prefix);
    // One that is larger than all may be is asked for each time: it takes long, but no memory for good.
    if (day.uuids.length < manyKeys || day.uuids.length > mostKeys) return;
    this.#kept.set(prefix, day);
    let total = [...this.#kept.values()].reduce((sum, { uuids }) => sum + uuids.length, 0);
    for (const [oldest, { uuids }] of this.#kept) {
      if (total <= mostKeys || oldest === prefix) return;
      this.#kept.delete(oldest);
      total -= uuids.length;
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
