import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { ListCollection } from './filter-list.ts';

/** Reads the `*.txt` files of a folder. Throws if it contains none. */
export async function readLists(folder: string, source = folder): Promise<ListCollection> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.txt')).toSorted();
  if (names.length === 0) throw new Error(`There is no filter list (*.txt) in ${folder}.`);
  const lists = names.map(async (name) => ({ name, text: await readFile(join(folder, name), 'utf8') }));
  return { source, lists: await Promise.all(lists) };
}
