interface EntryLimit {
  readonly maxSize: number;
  readonly sizeCalculation: () => number;
}

/**
 * Options of an `LRUCache` that keeps at most so many entries. Its own `max` allocates the lists of all entries at once: 7 MiB of the heap
 * for the caches of a front, most of them empty, and read again by each collection of garbage. A cache that is limited by size has lists
 * that grow.
 */
export function entryLimit(max: number): EntryLimit {
  return { maxSize: max, sizeCalculation: () => 1 };
}
