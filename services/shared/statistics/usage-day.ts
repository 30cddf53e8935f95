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

/** Usage of an account on one day in UTC. A capture counts for the day on which it ended. */
export interface UsageDay extends Counts {
  readonly latency: Histogram;
  /** Counts by the id of the API key. Refreshes belong to no key. */
  readonly keys: Record<string, Counts>;
  /** Failed captures and refreshes by their error. Absent in days that older versions wrote. */
  failures?: Partial<Record<ErrorCode, number>>;
}

/** Maximum number of keys of a day that are counted separately. All further keys are counted together. */
export const maxKeys = 100;
export const otherKeys = 'other';

const newCounts = (): Counts => ({ tokens: 0, completed: 0, failed: 0, cached: 0 });

export const newDay = (): UsageDay => ({ ...newCounts(), latency: {}, keys: {}, failures: {} });

export function countEnd(day: UsageDay, { key, tokens, durationMs, failure }: CaptureEnd): void {
  const counts = { ...newCounts(), tokens, ...(failure === undefined ? { completed: 1 } : { failed: 1 }) };
  add(day, counts);
  if (failure === undefined) addHistogram(day.latency, { [bucketOf(durationMs)]: 1 });
  else addFailures(day, { [failure.code]: 1 });
  if (key !== undefined) addKey(day, key, counts);
}

export function countHit(day: UsageDay, key: string): void {
  day.cached++;
  countsOfKey(day, key).cached++;
}

/** Adds the counts of another process. */
export function addDay(day: UsageDay, other: UsageDay): void {
  add(day, other);
  addFailures(day, other.failures ?? {});
  addHistogram(day.latency, other.latency);
  for (const [key, counts] of Object.entries(other.keys)) addKey(day, key, counts);
}

function addFailures(day: UsageDay, more: NonNullable<UsageDay['failures']>): void {
  const failures = (day.failures ??= {});
  for (const [code, count] of Object.entries(more)) {
    failures[code as ErrorCode] = (failures[code as ErrorCode] ?? 0) + count;
  }
}

const addKey = (day: UsageDay, key: string, counts: Counts) => add(countsOfKey(day, key), counts);

/** Returns the counts alone, for a response. */
export const countsOf = ({ tokens, completed, failed, cached }: Counts): Counts => ({
  tokens,
  completed,
  failed,
  cached,
});

function add(target: Counts, { tokens, completed, failed, cached }: Counts): void {
  target.tokens += tokens;
  target.completed += completed;
  target.failed += failed;
  target.cached += cached;
}

/** Returns the counts of a key. If there are too many keys, returns the counts that all further keys share. */
function countsOfKey({ keys }: UsageDay, key: string): Counts {
  const isFull = keys[key] === undefined && Object.keys(keys).length >= maxKeys;
  return (keys[isFull ? otherKeys : key] ??= newCounts());
}

/** Ratio of the end of a bucket to its start. The error of a percentile is at most 5%, which follows from the square root of this ratio. */
const growth = 1.1;

/** The last bucket, for durations of a day and more. */
const maxBucket = 200;

/** Durations counted by bucket; the first bucket is below 1 ms. Contains only buckets with a count, at most 201. */
export type Histogram = Record<string, number>;

/** Returns the bucket of a duration in milliseconds. */
export const bucketOf = (ms: number): number =>
  ms < 1 ? 0 : Math.min(maxBucket, 1 + Math.floor(Math.log(ms) / Math.log(growth)));

/** Returns the duration that represents a bucket: the geometric mean of its limits, in milliseconds. */
const valueOf = (bucket: number): number => (bucket === 0 ? 0 : growth ** (bucket - 0.5));

/** Adds the counts of a histogram to another one. */
export function addHistogram(target: Histogram, source: Histogram): void {
  for (const [bucket, count] of Object.entries(source)) target[bucket] = (target[bucket] ?? 0) + count;
}

/** Returns percentiles in whole milliseconds, each within 5%; null if nothing was counted. */
export function percentilesOf(
  histogram: Histogram,
): { readonly p50: number; readonly p90: number; readonly p99: number } | null {
  const buckets = Object.entries(histogram)
    .map(([bucket, count]) => ({ bucket: Number(bucket), count }))
    .toSorted((a, b) => a.bucket - b.bucket);
  const total = buckets.reduce((sum, { count }) => sum + count, 0);
  if (total === 0) return null;
  const at = (share: number) => {
    const rank = Math.ceil(share * total);
    let seen = 0;
    for (const { bucket, count } of buckets) {
      seen += count;
      if (seen >= rank) return Math.round(valueOf(bucket));
    }
    return 0;
  };
  return { p50: at(0.5), p90: at(0.9), p99: at(0.99) };
}
