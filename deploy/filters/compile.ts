import { createHash } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  engineFileName,
  libraryVersion,
  listKinds,
  manifestFileName,
  readBuiltInList,
  type FilterManifest,
  type ListKind,
} from '../../services/renderer/blocking/filter-set.ts';
import { fetchLists } from './fetch-lists.ts';
import { kindsOf, type ListCollection } from './filter-list.ts';
import { readLists } from './own-lists.ts';

/** Increase this number when a change compiles equal lists to another result. */
const compilerVersion = 2;

export interface CompiledFilters {
  /** Path of the folder, for `WEBCAPTURE_FILTERS_PATH`. */
  readonly path: string;
  /** Descriptions of the sources of the rules. */
  readonly sources: readonly string[];
  readonly rules: number;
}

/**
 * Compiles filter lists into the folder `outDir` in a few seconds. Does nothing if the folder already contains the same lists. The lists
 * are those in `listsDir`, or the downloaded official ones, or those of a Debian package. The project's short list is always included, so
 * compiling succeeds even without a network. `log` receives lines for the user.
 */
export async function compileFilters(options: {
  readonly outDir: string;
  readonly listsDir?: string | undefined;
  readonly log: (line: string) => void;
}): Promise<CompiledFilters> {
  const { outDir, listsDir, log } = options;
  const start = performance.now();
  await mkdir(outDir, { recursive: true });
  const collection =
    listsDir === undefined
      ? await fetchLists(join(outDir, 'lists'), log)
      : await readLists(listsDir, `folder ${listsDir}`);
  const texts = await textOfEachKind(collection);
  const fingerprint = hashOf(JSON.stringify([compilerVersion, libraryVersion, texts]));

  let manifest = await readManifest(outDir);
  const isNew = manifest?.fingerprint !== fingerprint || !(await hasSoundEngines(outDir, manifest));
  if (manifest === null || isNew) {
    const sources = ['built-in list', ...(collection === null ? [] : [describe(collection)])];
    manifest = { fingerprint, sources, ...(await writeEngines(outDir, texts)) };
    await replaceFile(join(outDir, manifestFileName), JSON.stringify(manifest));
  }
  const { sources, rules } = manifest;
  const done = isNew ? `compiled in ${((performance.now() - start) / 1000).toFixed(1)} s` : 'unchanged';
  log(`filter lists: ${rules} rules of ${sources.join(' and ')}, ${done}`);
  return { path: outDir, sources, rules };
}

type Texts = Readonly<Record<ListKind, string>>;

async function textOfEachKind(collection: ListCollection | null): Promise<Texts> {
  const entries = listKinds.map(async (kind) => {
    const lists = (collection?.lists ?? []).filter(({ name }) => kindsOf(name).includes(kind));
    return [kind, [await readBuiltInList(kind), ...lists.map(({ text }) => text)].join('\n')];
  });
  return Object.fromEntries(await Promise.all(entries)) as Texts;
}

/** Writes the engines and returns their part of the manifest. */
async function writeEngines(
  outDir: string,
  texts: Texts,
): Promise<Pick<FilterManifest, 'engineVersion' | 'engines' | 'rules'>> {
  // The library is loaded only for compiling, because every start of the service checks the folder.
  const { compileEngine, engineVersion } = await import('../../services/renderer/blocking/filter-engine.ts');
  const hashes: [ListKind, string][] = [];
  let sum = 0;
  for (const kind of listKinds) {
    const { engine, rules } = compileEngine(texts[kind]);
    const bytes = engine.serialize();
    await replaceFile(join(outDir, engineFileName(kind)), bytes);
    hashes.push([kind, hashOf(bytes)]);
    sum += rules;
  }
  return { engineVersion, engines: Object.fromEntries(hashes) as FilterManifest['engines'], rules: sum };
}

/** Whether the files of the engines are those that the manifest describes. */
async function hasSoundEngines(outDir: string, { engines }: FilterManifest): Promise<boolean> {
  const isSound = async (kind: ListKind) =>
    hashOf(await readFile(join(outDir, engineFileName(kind)))) === engines[kind];
  const results = await Promise.all(listKinds.map((kind) => isSound(kind).catch(() => false)));
  return results.every(Boolean);
}

const hashOf = (content: string | Uint8Array) => createHash('sha256').update(content).digest('hex');

async function readManifest(outDir: string): Promise<FilterManifest | null> {
  try {
    return JSON.parse(await readFile(join(outDir, manifestFileName), 'utf8')) as FilterManifest;
  } catch {
    return null;
  }
}

/** Replaces a file atomically: a reader sees the old content or the new. */
async function replaceFile(path: string, content: string | Uint8Array): Promise<void> {
  const temporary = `${path}.${process.pid}`;
  await writeFile(temporary, content);
  await rename(temporary, path);
}

function describe({ source, lists }: ListCollection): string {
  return `${source} (${lists.map(({ name }) => name).join(', ')})`;
}
