import { Counter, type Registry } from 'prom-client';
import type { CaptureRecord } from '../captures/capture-record.ts';
import { dateOf, dayOf } from '../captures/times.ts';
import { changeEntry, Entries } from '../nats/entries.ts';
import type { NatsSession } from '../nats/connect.ts';
import { keysMatching, readInParts, readMany } from '../nats/read-many.ts';
import { endOf } from './capture-end.ts';
import { addHour, newHour, noteEnd, notableKey, notableTtlSeconds } from './notable-captures.ts';
import { addDay, countEnd, countHit, newDay, type UsageDay } from './usage-day.ts';

/** Interval of writes. */
export const statisticsIntervalMs = 10_000;

/**
 * Maximum number of entries of accounts and days that wait to be written, about 1 KB each. Activity that needs a further entry is not
 * counted.
 */
const maxPending = 10_000;

/** Lifetime of a day. Requests cover at most 90 days. */
const dayTtlSeconds = 92 * 86_400;

const parallel = 8;

/** Timeout of one write with all its attempts. */
const writeTimeoutMs = 3000;

const outcomes = ['ok', 'failed', 'dropped'] as const;
type WriteOutcome = (typeof outcomes)[number];

export function createStatisticsMetrics(registry: Registry): (outcome: WriteOutcome) => void {
  const writes = new Counter({
    name: 'webcapture_statistics_writes_total',
    help: 'Entries of the usage history written, by outcome: ok, failed (tried again with the next ones), dropped (too many were waiting).',
    labelNames: ['outcome'],
    registers: [registry],
  });
  for (const outcome of outcomes) writes.inc({ outcome }, 0);
  return (outcome) => writes.inc({ outcome });
}

/**
 * Counts the activity of accounts, for their usage history and for the operator. Counting is an addition in memory. Every ten seconds the
 * sums are added to an entry for each account and day (`stats.<account>.<yyyymmdd>` in the bucket `db`), and to one for each hour. If a
 * process is killed, its unwritten counts are lost. If a write gets no answer, it may count twice. Charges are not counted here but in the
 * usage ledger.
 */
export class Statistics {
  readonly #session: NatsSession;
  readonly #days: PendingEntries<UsageDay>;
  readonly #hours: PendingEntries<ReturnType<typeof newHour>>;

  constructor(session: NatsSession, count: (outcome: WriteOutcome) => void) {
    this.#session = session;
    const db = new Entries(session, 'db');
    this.#days = new PendingEntries({ db, count, create: newDay, add: addDay, ttlSeconds: dayTtlSeconds });
    this.#hours = new PendingEntries({ db, count, create: newHour, add: addHour, ttlSeconds: notableTtlSeconds });
  }

  /** Counts a record that this process has changed; `before` is null if there was none. */
  readonly changed = (before: CaptureRecord | null, after: CaptureRecord): void => {
    const end = endOf(before, after);
    if (end === null) return;
    this.#days.change(dayKey(end.account, end.endedAt), (day) => countEnd(day, end));
    this.#hours.change(notableKey(end.endedAt), (hour) => noteEnd(hour, end));
  };

  /** Counts a request that was answered from the cache. */
  hit(account: string, key: string): void {
    this.#days.change(dayKey(account, this.#session.now()), (day) => countHit(day, key));
  }

  /** Writes the counts. Throws if some could not be written; the next flush writes them. */
  async flush(): Promise<void> {
    await this.#days.flush();
    await this.#hours.flush();
  }
}

/** The usage history of accounts. */
export class UsageHistory {
  readonly #session: NatsSession;

  constructor(session: NatsSession) {
    this.#session = session;
  }

  /** Returns the days up to the day of `now` (Unix ms) in UTC, oldest first. */
  async read(account: string, days: number, now: number): Promise<readonly { date: string; day: UsageDay }[]> {
    const times = Array.from({ length: days }, (_, index) => now - (days - 1 - index) * dayMs);
    const keys = times.map((time) => dayKey(account, time));
    const found = await readMany<UsageDay>(this.#session, 'db', keys);
    return times.map((time, index) => ({
      date: dateOf(time),
      day: found.get(keys[index] ?? '') ?? newDay(),
    }));
  }

  /** Returns the sum of the days up to the day of `now` (Unix ms) in UTC, for each account with usage. */
  async sumByAccount(days: number, now: number): Promise<ReadonlyMap<string, UsageDay>> {
    const dates = new Set(Array.from({ length: days }, (_, index) => dayOf(now - index * dayMs)));
    const keys = (await keysMatching(this.#session, 'db', 'stats.*.*')).filter((key) => dates.has(dateInKey(key)));
    const sums = new Map<string, UsageDay>();
    for await (const part of readInParts<UsageDay>(this.#session, 'db', keys)) {
      for (const [key, day] of part) {
        const account = accountInKey(key);
        const sum = sums.get(account) ?? newDay();
        addDay(sum, day);
        sums.set(account, sum);
      }
    }
    return sums;
  }
}

const dayMs = 86_400_000;

const dayKey = (account: string, time: number) => `stats.${account}.${dayOf(time)}`;
const accountInKey = (key: string) => key.split('.')[1] ?? '';
const dateInKey = (key: string) => key.split('.')[2] ?? '';

interface PendingOptions<T> {
  readonly db: Entries;
  readonly count: (outcome: WriteOutcome) => void;
  readonly create: () => T;
  /** Adds `source` to `target`. */
  readonly add: (target: T, source: T) => void;
  readonly ttlSeconds: number;
}

/** Sums by key that are not yet added to the stored entries. */
class PendingEntries<T extends object> {
  readonly #options: PendingOptions<T>;
  #pending = new Map<string, T>();

  constructor(options: PendingOptions<T>) {
    this.#options = options;
  }

  change(key: string, change: (value: T) => void): void {
    const { create, count } = this.#options;
    const known = this.#pending.get(key);
    if (known === undefined && this.#pending.size >= maxPending) return count('dropped');
    const value = known ?? create();
    change(value);
    this.#pending.set(key, value);
  }

  async flush(): Promise<void> {
    const rest = [...this.#pending].values();
    this.#pending = new Map();
    let failure: { readonly error: unknown } | undefined;
    const serve = async () => {
      for (const [key, value] of rest) {
        // If NATS is unavailable, each further write would wait for its timeout, so the loop ends.
        if (failure === undefined) {
          try {
            await this.#write(key, value);
            this.#options.count('ok');
            continue;
          } catch (error) {
            failure = { error };
            this.#options.count('failed');
          }
        }
        this.change(key, (newer) => this.#options.add(newer, value));
      }
    };
    await Promise.all(Array.from({ length: parallel }, serve));
    if (failure !== undefined) throw failure.error;
  }

  async #write(key: string, value: T): Promise<void> {
    const { db, create, add, ttlSeconds } = this.#options;
    const sum = (kept: T | null) => {
      const both = create();
      if (kept !== null) add(both, kept);
      add(both, value);
      return both;
    };
    await changeEntry<T, T>(db, key, sum, () => ttlSeconds, { deadline: Date.now() + writeTimeoutMs });
  }
}
