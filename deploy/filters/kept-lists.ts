import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ListCollection } from './filter-list.ts';
import { readLists } from './own-lists.ts';

const sourceFileName = 'source.json';

/** Lists that were fetched before, and when (Unix milliseconds). */
export interface KeptLists {
  readonly fetchedAt: number;
  /** Null when nothing could be fetched then. */
  readonly collection: ListCollection | null;
}

/** What {@link keepLists} kept in the folder, or null. */
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

/** Replaces what the folder keeps; null notes that nothing could be fetched. */
export async function keepLists(folder: string, collection: ListCollection | null): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  for (const { name, text } of collection?.lists ?? []) await writeFile(join(folder, name), text);
  const note = { fetchedAt: Date.now(), source: collection?.source ?? null };
  await writeFile(join(folder, sourceFileName), JSON.stringify(note));
}
