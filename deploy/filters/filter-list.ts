import type { ListKind } from '../../services/renderer/blocking/filter-set.ts';

/** One filter list as its authors publish it. */
export interface FilterList {
  readonly name: string;
  readonly text: string;
}

/** Lists that belong together, and where they came from. */
export interface ListCollection {
  readonly source: string;
  readonly lists: readonly FilterList[];
}

/** The engines that a list goes into, by its file name: exceptions into all, what names no purpose into `ads`. */
export function kindsOf(name: string): readonly ListKind[] {
  if (/unbreak|allow|exception/i.test(name)) return ['ads', 'trackers', 'cookies'];
  if (/cookie|consent|annoyance/i.test(name)) return ['cookies'];
  if (/privacy|track|analytics/i.test(name)) return ['trackers'];
  return ['ads'];
}
