interface EntryLimit {
  readonly maxSize: number;
  readonly sizeCalculation: () => number;
}

/**
 * Options of an `LRUCache` with a maximum number of entries. The cache's own `max` allocates the lists of all entries
 * at once: 7 MiB of heap for a front's caches, mostly empty, and scanned by each garbage collection. A cache that is
 * limited by size has lists that grow.
 */
export function entryLimit(max: number): EntryLimit {
  return { maxSize: max, sizeCalculation: () => 1 };
}
