import { addHistogram, bucketOf, type Histogram } from './histogram.ts';
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
}

/** Maximum number of keys of a day that are counted separately. Further ones are counted together. */
export const maxKeys = 100;
export const otherKeys = 'other';

const newCounts = (): Counts => ({ tokens: 0, completed: 0, failed: 0, cached: 0 });

export const newDay = (): UsageDay => ({ ...newCounts(), latency: {}, keys: {} });

export function countEnd(day: UsageDay, { key, tokens, durationMs, failure }: CaptureEnd): void {
  const counts = { ...newCounts(), tokens, ...(failure === undefined ? { completed: 1 } : { failed: 1 }) };
  add(day, counts);
  if (failure === undefined) addHistogram(day.latency, { [bucketOf(durationMs)]: 1 });
  if (key !== undefined) addKey(day, key, counts);
}

export function countHit(day: UsageDay, key: string): void {
  day.cached++;
  countsOf(day, key).cached++;
}

/** Adds the counts of another process. */
export function addDay(day: UsageDay, other: UsageDay): void {
  add(day, other);
  addHistogram(day.latency, other.latency);
  for (const [key, counts] of Object.entries(other.keys)) addKey(day, key, counts);
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
