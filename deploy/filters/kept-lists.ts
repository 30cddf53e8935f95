import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ListCollection } from './filter-list.ts';
import { readLists } from './own-lists.ts';

const sourceFileName = 'source.json';

/** Lists that an earlier fetch has kept, and its time (Unix milliseconds). */
export interface KeptLists {
  readonly fetchedAt: number;
  /** Null if that fetch failed. */
  readonly collection: ListCollection | null;
}

/** Returns the lists that {@link keepLists} wrote into the folder, or null. */
export async function readKeptLists(folder: string): Promise<KeptLists | null> {
  try {
    const { fetchedAt, source } = JSON.parse(await readFile(join(folder, sourceFileName), 'utf8')) as {
      fetchedAt: number;
      source: string | null;
    };
    return { fetchedAt, collection: source === null ? null : await readLists(folder, source) };
  } catch {
    return null;
  }
}

/** Replaces the lists in the folder; null records a failed fetch. */
export async function keepLists(folder: string, collection: ListCollection | null): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  for (const { name, text } of collection?.lists ?? []) await writeFile(join(folder, name), text);
  const note = { fetchedAt: Date.now(), source: collection?.source ?? null };
  await writeFile(join(folder, sourceFileName), JSON.stringify(note));
}
