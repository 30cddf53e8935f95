import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

export const addresses = (count: number, name: string) =>
  Array.from({ length: count }, (_, index) => `https://example.com/${name}/${index}\n`).join('');

/** Returns the names of the pictures in the folder of a batch. */
export const pictures = async (folder: string) => (await readdir(folder)).filter((name) => name.endsWith('.png'));

/** Returns the entries of the journal of a batch. */
export const journalOf = async (folder: string) =>
  (await readFile(join(folder, '.webcapture-batch.jsonl'), 'utf8'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { type: string; id: string; key?: string });
