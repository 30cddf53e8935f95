import { readFile } from 'node:fs/promises';
import { ENGINE_VERSION, FiltersEngine, parseFilters } from '@ghostery/adblocker';

/** The engines of a filter set, one for each blocking option of a capture. */
export const listKinds = ['ads', 'trackers', 'cookies'] as const;
export type ListKind = (typeof listKinds)[number];

/** Version of the serialized form. An engine cannot read the form of another version. */
export const engineVersion: number = ENGINE_VERSION;

export const manifestFileName = 'manifest.json';
export const engineFileName = (kind: ListKind) => `${kind}.engine`;

/** Manifest of a folder of compiled lists. */
export interface FilterManifest {
  readonly engineVersion: number;
  /** Hash of the lists and of the compile options. */
  readonly fingerprint: string;
  /** Descriptions of the sources of the lists. */
  readonly sources: readonly string[];
  readonly rules: number;
}

/** Conditions of the lists (`!#if`) that are true here. */
const environment = new Map([['env_chromium', true]]);

/**
 * Compiles the text of a list into an engine. It omits rules that need more than blocking and hiding: scriptlets,
 * procedural selectors, and rewriting of headers, addresses and bodies.
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

/** Throws if the bytes are damaged or of another version of the engine. */
export function readEngine(bytes: Uint8Array): FiltersEngine {
  const engine = FiltersEngine.deserialize(bytes);
  engine.updateEnv(environment);
  return engine;
}

/**
 * Returns the project's short list of a kind. It is part of every filter set, and the only list if none was compiled.
 */
export function readBuiltInList(kind: ListKind): Promise<string> {
  return readFile(new URL(`./lists/${kind}.txt`, import.meta.url), 'utf8');
}
