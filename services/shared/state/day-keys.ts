import { isMessageMissing } from '../nats/api-errors.ts';
import type { NatsSession } from '../nats/connect.ts';
import { allKeys } from '../nats/key-page.ts';
import { capturesOfDay } from './captures.ts';
import { firstUuidOf, timeOfUuid } from './uuid.ts';

export const dayMs = 86_400_000;

/** Smaller days are asked for anew each time: that is quick. */
const manyKeys = 2000;

/** Of all days that are kept together: some 40 MB. */
const mostKeys = 300_000;

/** Records go in time: a day is asked for anew after this long. */
const keepMs = 600_000;

/** So long after its time a capture has its record, whatever the clocks, and every replica knows of it. */
const settleMs = 120_000;

/** Records read, at most, to find what is new since a day was asked for. */
const mostNew = 1000;

interface Day {
  /** Newest first. */
  readonly uuids: readonly string[];
  /** Unix ms. */
  readonly askedAt: number;
  /** No capture of an earlier time (Unix ms) is missing. */
  readonly settled: number;
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

  /** Newest first, and only those before a uuid where one is given. `dayStart` in Unix ms. */
  async uuidsOf(account: string, dayStart: number, before?: string): Promise<readonly string[]> {
    const prefix = capturesOfDay(account, dayStart);
    const until = Math.min(dayStart + dayMs, timeOfUuid(before ?? '') ?? Number.POSITIVE_INFINITY);
    const day = await this.#dayUntil(prefix, until);
    this.#keep(prefix, day);
    return before === undefined ? day.uuids : day.uuids.slice(indexBelow(day.uuids, before));
  }

  async #dayUntil(prefix: string, until: number): Promise<Day> {
    await this.#asking.get(prefix);
    const kept = this.#kept.get(prefix);
    if (kept === undefined || this.#now() - kept.askedAt > keepMs) return this.#ask(prefix);
    if (until < kept.settled) return kept;
    return (await this.#renew(prefix, kept)) ?? this.#ask(prefix);
  }

  #ask(prefix: string): Promise<Day> {
    const askedAt = this.#now();
    const asking = allKeys(this.#session, 'db', `${prefix}*`)
      .then((keys) => ({ uuids: newestFirst(keys, prefix), askedAt, settled: askedAt - settleMs }))
      .finally(() => this.#asking.delete(prefix));
    this.#asking.set(prefix, asking);
    return asking;
  }

  /** The day with what has come to it since; null when that is too much. */
  async #renew(prefix: string, day: Day): Promise<Day | null> {
    const settled = this.#now() - settleMs;
    const written = await this.#writtenSince(prefix, day.settled);
    if (written === null) return null;
    const edge = firstUuidOf(day.settled);
    const fresh = newestFirst(written, prefix).filter((uuid) => uuid >= edge);
    return { ...day, uuids: [...fresh, ...day.uuids.slice(indexBelow(day.uuids, edge))], settled };
  }

  #keep(prefix: string, day: Day): void {
    this.#kept.delete(prefix);
    if (day.uuids.length < manyKeys) return;
    this.#kept.set(prefix, day);
    let total = [...this.#kept.values()].reduce((sum, { uuids }) => sum + uuids.length, 0);
    for (const [oldest, { uuids }] of this.#kept) {
      if (total <= mostKeys || oldest === prefix) return;
      this.#kept.delete(oldest);
      total -= uuids.length;
    }
  }

  /** The keys written since that time (Unix ms), new or not; null when there are too many. */
  async #writtenSince(prefix: string, time: number): Promise<string[] | null> {
    const bucket = '$KV.db.';
    const keys: string[] = [];
    try {
      const messages = await this.#session.jsm.direct.getBatch('KV_db', {
        start_time: new Date(time),
        next_by_subj: `${bucket}${prefix}*`,
        batch: mostNew,
      });
      for await (const message of messages) keys.push(message.subject.slice(bucket.length));
    } catch (error) {
      if (!isMessageMissing(error)) throw error;
    }
    return keys.length < mostNew ? keys : null;
  }
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
