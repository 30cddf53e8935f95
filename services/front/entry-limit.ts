interface EntryLimit {
  readonly maxSize: number;
  readonly sizeCalculation: () => number;
}

/**
 * Returns options of an `LRUCache` for a maximum number of entries. The option `max` would allocate the lists of all
 * entries at once: 7 MiB of heap for a front's caches, mostly empty, and scanned by each garbage collection. The lists of
 * a cache with `maxSize` grow.
 */
export function entryLimit(max: number): EntryLimit {
  return { maxSize: max, sizeCalculation: () => 1 };
}
