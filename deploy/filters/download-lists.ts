import type { FilterList, ListCollection } from './filter-list.ts';

interface OfficialList {
  /** File name of the kept list. */
  readonly name: string;
  readonly url: string;
  /** Whether the other lists are useful without this one. */
  readonly optional?: boolean;
}

/** The authors license the lists under GPL-3.0 and CC BY-SA 3.0; they are used unchanged and not redistributed. */
const officialLists: readonly OfficialList[] = [
  { name: 'easylist.txt', url: 'https://easylist.to/easylist/easylist.txt' },
  { name: 'easyprivacy.txt', url: 'https://easylist.to/easylist/easyprivacy.txt' },
  { name: 'easylist-cookie.txt', url: 'https://secure.fanboy.co.nz/fanboy-cookiemonster.txt', optional: true },
];

/** Timeout of a download, which takes less time in a working network. */
const timeLimitMs = 10_000;

/** Downloads the official lists; rejects if a list that is not optional is unavailable. */
export async function downloadLists(official: readonly OfficialList[] = officialLists): Promise<ListCollection> {
  const signal = AbortSignal.timeout(timeLimitMs);
  const lists = official.map(async ({ name, url, optional }): Promise<FilterList[]> => {
    try {
      return [{ name, text: await download(url, signal) }];
    } catch (error) {
      if (optional) return [];
      throw error;
    }
  });
  return { source: 'official downloads', lists: (await Promise.all(lists)).flat() };
}

async function download(url: string, signal: AbortSignal): Promise<string> {
  const response = await fetch(url, { signal });
  const text = await response.text();
  // Captive portals and error pages return HTML.
  if (!response.ok || !/^\[Adblock|^! (?:Title|Checksum)/im.test(text.slice(0, 2000))) {
    throw new Error(`${url} is not a filter list (status ${response.status})`);
  }
  return text;
}
