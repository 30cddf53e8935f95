import { readFile } from 'node:fs/promises';
import { ENGINE_VERSION, FiltersEngine, parseFilters } from '@ghostery/adblocker';

/** The engines of a filter set: what each of them answers for is an option of a capture. */
export const listKinds = ['ads', 'trackers', 'cookies'] as const;
export type ListKind = (typeof listKinds)[number];

/** The serialised form belongs to one version of the engine: another one cannot read it. */
export const engineVersion: number = ENGINE_VERSION;

export const manifestFileName = 'manifest.json';
export const engineFileName = (kind: ListKind) => `${kind}.engine`;

/** What a folder of compiled lists says of itself. */
export interface FilterManifest {
  readonly engineVersion: number;
  /** Fingerprint of the lists and of the way they were compiled. */
  readonly fingerprint: string;
  /** Where the lists came from, in words. */
  readonly sources: readonly string[];
  readonly rules: number;
}

/** The conditions in the lists (`!#if`) that hold here. */
const environment = new Map([['env_chromium', true]]);

/**
 * One engine from the text of a list. Rules that need more than blocking and hiding are left out: scriptlets,
 * procedural selectors, rewriting of headers, addresses and bodies.
 */
export function compileEngine(text: string): { engine: FiltersEngine; rules: number } {
  const parsed = parseFilters(text, { loadPreprocessors: true });
  const networkFilters = parsed.networkFilters.filter(
    (filter) => !filter.isCSP() && !filter.isRemoveParam() && !filter.isHtmlFilteringRule(),
  );
  const cosmeticFilters = parsed.cosmeticFilters.filter(
    (filter) => !filter.isScriptInject() && !filter.isExtended() && !filter.isHtmlFiltering() && !filter.isRemove(),
  );
  const engine = new FiltersEngine({
    networkFilters,
    cosmeticFilters,
    preprocessors: parsed.preprocessors,
    config: { loadPreprocessors: true, integrityCheck: true },
  });
  engine.updateEnv(environment);
  return { engine, rules: networkFilters.length + cosmeticFilters.length };
}

/** Throws when the bytes are damaged or of another version of the engine. */
export function readEngine(bytes: Uint8Array): FiltersEngine {
  const engine = FiltersEngine.deserialize(bytes);
  engine.updateEnv(environment);
  return engine;
}

/** The project's own short list of a kind: part of every filter set, and all there is when none was compiled. */
export function readBuiltInList(kind: ListKind): Promise<string> {
  return readFile(new URL(`./lists/${kind}.txt`, import.meta.url), 'utf8');
}
