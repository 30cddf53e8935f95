import { listKinds, type ListKind } from '../../services/renderer/blocking/filter-set.ts';

/** One filter list as published. */
export interface FilterList {
  readonly name: string;
  readonly text: string;
}

/** Lists that come from the same source. */
export interface ListCollection {
  readonly source: string;
  readonly lists: readonly FilterList[];
}

/**
 * Returns the engines that a list belongs to, by its file name. Exceptions belong to all engines. A list whose name states no purpose
 * belongs to `ads`.
 */
export function kindsOf(name: string): readonly ListKind[] {
  if (/unbreak|allow|exception/i.test(name)) return listKinds;
  if (/newsletter/i.test(name)) return ['newsletters'];
  if (/chat/i.test(name)) return ['chats'];
  if (/cookie|consent|annoyance/i.test(name)) return ['cookies'];
  if (/privacy|track|analytics/i.test(name)) return ['trackers'];
  return ['ads'];
}
