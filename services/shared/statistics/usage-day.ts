import { addHistogram, bucketOf, type Histogram } from './histogram.ts';
import type { ErrorCode } from '../runtime/errors.ts';
import type { CaptureEnd } from './capture-end.ts';

/** Counts of an account, or of one of its keys. */
export interface Counts {
  tokens: number;
  /** Captures and refreshes. */
  completed: number;
  failed: number;
  /** Number of requests that were answered from the cache. */
  cached: number;
}

/** Usage of an account on one day in UTC, by the end of captures. */
export interface UsageDay extends Counts {
  readonly latency: Histogram;
  /** Counts by the id of the API key. Refreshes belong to no key. */
  readonly keys: Record<string, Counts>;
  /** Failed captures and refreshes by their error. Absent in days that older versions wrote. */
  readonly failures?: Partial<Record<ErrorCode, number>>;
}

/** Maximum number of keys of a day that are counted separately. Further ones are counted together. */
export const maxKeys = 100;
export const otherKeys = 'other';

/** A day that this version counts. */
export type StartedDay = UsageDay & Required<Pick<UsageDay, 'failures'>>;

const newCounts = (): Counts => ({ tokens: 0, completed: 0, failed: 0, cached: 0 });

export const newDay = (): StartedDay => ({ ...newCounts(), latency: {}, keys: {}, failures: {} });

export function countEnd(day: StartedDay, { key, tokens, durationMs, failure }: CaptureEnd): void {
  const counts = { ...newCounts(), tokens, ...(failure === undefined ? { completed: 1 } : { failed: 1 }) };
  add(day, counts);
  if (failure === undefined) addHistogram(day.latency, { [bucketOf(durationMs)]: 1 });
  else addFailures(day, { [failure.code]: 1 });
  if (key !== undefined) addKey(day, key, counts);
}

export function countHit(day: UsageDay, key: string): void {
  day.cached++;
  countsOf(day, key).cached++;
}

/** Adds the counts of another process. */
export function addDay(day: StartedDay, other: UsageDay): void {
  add(day, other);
  addFailures(day, other.failures ?? {});
  addHistogram(day.latency, other.latency);
  for (const [key, counts] of Object.entries(other.keys)) addKey(day, key, counts);
}

function addFailures({ failures }: StartedDay, more: NonNullable<UsageDay['failures']>): void {
  for (const [code, count] of Object.entries(more)) {
    failures[code as ErrorCode] = (failures[code as ErrorCode] ?? 0) + count;
  }
}

const addKey = (day: UsageDay, key: string, counts: Counts) => add(countsOf(day, key), counts);

function add(target: Counts, { tokens, completed, failed, cached }: Counts): void {
  target.tokens += tokens;
  target.completed += completed;
  target.failed += failed;
  target.cached += cached;
}

/** Returns the counts of a key, or of all other keys if there are too many. */
function countsOf({ keys }: UsageDay, key: string): Counts {
  const isFull = keys[key] === undefined && Object.keys(keys).length >= maxKeys;
  return (keys[isFull ? otherKeys : key] ??= newCounts());
}
