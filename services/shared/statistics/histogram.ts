/** Ratio of a bucket's end to its start. The error of a percentile is at most 5% (the square root of this ratio). */
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
