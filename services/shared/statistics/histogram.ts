/** Ratio of each bucket's end to its start: a percentile is off by at most 5% (the square root of this). */
const growth = 1.1;

/** A day and more: what takes longer counts as this. */
const maxBucket = 200;

/** Durations, counted by bucket: the first is below 1 ms. Only buckets with a count are there, at most 201. */
export type Histogram = Record<string, number>;

/** The bucket of a duration in milliseconds. */
export const bucketOf = (ms: number): number =>
  ms < 1 ? 0 : Math.min(maxBucket, 1 + Math.floor(Math.log(ms) / Math.log(growth)));

/** What a duration in a bucket is taken for: the geometric mean of its bounds, in milliseconds. */
const valueOf = (bucket: number): number => (bucket === 0 ? 0 : growth ** (bucket - 0.5));

/** Adds the counts of one histogram to another one. */
export function addHistogram(target: Histogram, source: Histogram): void {
  for (const [bucket, count] of Object.entries(source)) target[bucket] = (target[bucket] ?? 0) + count;
}

/** Percentiles, in whole milliseconds, each within 5%; null when nothing was counted. */
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
