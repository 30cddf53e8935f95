import { listKinds, type ListKind } from '../../services/renderer/blocking/filter-set.ts';

/** One filter list as published. */
export interface FilterList {
  readonly name: string;
  readonly text: string;
}

/** Lists with a common source. */
export interface ListCollection {
  readonly source: string;
  readonly lists: readonly FilterList[];
}

/**
 * Returns the engines for a list by its file name: exceptions are part of all engines, lists without a purpose in the
 * name part of `ads`.
 */
export function kindsOf(name: string): readonly ListKind[] {
  if (/unbreak|allow|exception/i.test(name)) return listKinds;
  if (/newsletter/i.test(name)) return ['newsletters'];
  if (/chat/i.test(name)) return ['chats'];
  if (/cookie|consent|annoyance/i.test(name)) return ['cookies'];
  if (/privacy|track|analytics/i.test(name)) return ['trackers'];
  return ['ads'];
}
