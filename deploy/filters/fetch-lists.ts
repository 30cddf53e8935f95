import { takeDebianLists } from './debian-lists.ts';
import { downloadLists } from './download-lists.ts';
import type { ListCollection } from './filter-list.ts';
import { keepLists, readKeptLists } from './kept-lists.ts';

const day = 24 * 60 * 60 * 1000;

/** Age at which lists are fetched again. */
const refreshMs = 7 * day;

/** Pause after a failed fetch, so that not every start waits for it. */
const retryMs = day / 24;

export interface WayToLists {
  readonly name: string;
  readonly fetch: () => Promise<ListCollection>;
}

/**
 * Ways to get the lists, in order of preference. The official lists are newer than the packaged ones, which come from the distribution's
 * mirror.
 */
const allWays: readonly WayToLists[] = [
  { name: 'official downloads', fetch: () => downloadLists() },
  { name: 'Debian package', fetch: takeDebianLists },
];

/**
 * Returns the lists in `folder`. Fetches them if the folder has no lists or they are old. Returns null if they are
 * unavailable; `log` receives the reason.
 */
export async function fetchLists(
  folder: string,
  log: (line: string) => void,
  ways: readonly WayToLists[] = allWays,
): Promise<ListCollection | null> {
  const kept = await readKeptLists(folder);
  if (kept !== null && Date.now() - kept.fetchedAt < (kept.collection === null ? retryMs : refreshMs)) {
    return kept.collection;
  }
  for (const { name, fetch } of ways) {
    try {
      const collection = await fetch();
      await keepLists(folder, collection);
      return collection;
    } catch (error) {
      log(`filter lists: none by ${name} (${reason(error)})`);
    }
  }
  await keepLists(folder, kept?.collection ?? null);
  return kept?.collection ?? null;
}

function reason(error: unknown): string {
  const { message, cause } = error instanceof Error ? error : new Error(String(error));
  const [line = ''] = (cause instanceof Error ? cause.message : message).trim().split('\n');
  return line.slice(0, 200);
}
