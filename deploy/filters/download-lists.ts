import type { FilterList, ListCollection } from './filter-list.ts';

interface OfficialList {
  /** What it is kept as. */
  readonly name: string;
  readonly url: string;
  /** The others are of use without it. */
  readonly optional?: boolean;
}

/** Dual-licensed by their authors, GPL-3.0 and CC BY-SA 3.0; they are used as they come and never redistributed. */
const officialLists: readonly OfficialList[] = [
  { name: 'easylist.txt', url: 'https://easylist.to/easylist/easylist.txt' },
  { name: 'easyprivacy.txt', url: 'https://easylist.to/easylist/easyprivacy.txt' },
  { name: 'easylist-cookie.txt', url: 'https://secure.fanboy.co.nz/fanboy-cookiemonster.txt', optional: true },
];

/** A network that is there answers within this time. */
const timeLimitMs = 10_000;

/** Downloads the official lists; rejects when one that is not optional cannot be had. */
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
  // Captive portals and error pages answer with HTML.
  if (!response.ok || !/^\[Adblock|^! (?:Title|Checksum)/im.test(text.slice(0, 2000))) {
    throw new Error(`${url} is not a filter list (status ${response.status})`);
  }
  return text;
}
