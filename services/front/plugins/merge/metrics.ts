import { Counter, Histogram, type Registry } from 'prom-client';

const mergeResults = ['merged', 'too_large', 'refused', 'failed'] as const;

export interface MergeMetrics {
  /** Counts a merge; `ms`: duration of its process. */
  merge(result: (typeof mergeResults)[number], ms?: number): void;
}

/** Counts merges of documents. */
export function createMergeMetrics(registry: Registry): MergeMetrics {
  const registers = [registry];
  const merges = new Counter({
    name: 'webcapture_front_merges_total',
    help: 'Merges of documents, by result: merged, too_large (the documents exceed the limits of a merge, or cannot be read), refused (too many at once), failed (no file, or no process to merge it). Merges whose captures failed, and abandoned merges, do not count.',
    labelNames: ['result'],
    registers,
  });
  for (const result of mergeResults) merges.inc({ result }, 0);
  const seconds = new Histogram({
    name: 'webcapture_front_merge_seconds',
    help: 'Duration of merging documents, including the start of the process and reading the files.',
    buckets: [0.2, 0.5, 1, 2, 5, 10, 20, 30, 60],
    registers,
  });
  return {
    merge(result, ms) {
      merges.inc({ result });
      if (ms !== undefined) seconds.observe(ms / 1000);
    },
  };
}
