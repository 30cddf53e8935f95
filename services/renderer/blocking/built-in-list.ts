import { readFile } from 'node:fs/promises';
import type { ListKind } from './filter-set.ts';

/** The project's own short list of a kind: part of every filter set, and all there is when none was compiled. */
export function readBuiltInList(kind: ListKind): Promise<string> {
  return readFile(new URL(`./lists/${kind}.txt`, import.meta.url), 'utf8');
}
