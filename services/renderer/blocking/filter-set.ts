import { readFile } from 'node:fs/promises';
import { ENGINE_VERSION, FiltersEngine, parseFilters } from '@ghostery/adblocker';
import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';

type BlockOption = keyof RenderOptions['block'];

/** The list of each option of `block`, in the order in which requests are matched. `media` has no list. */
export const listOf = {
  ads: 'ads',
  trackers: 'trackers',
  cookieBanners: 'cookies',
  chats: 'chats',
  newsletters: 'newsletters',
} as const satisfies Record<Exclude<BlockOption, 'media'>, string>;
export type ListOption = keyof typeof listOf;
export type ListKind = (typeof listOf)[ListOption];
export const listKinds: readonly ListKind[] = Object.values(listOf);

/** Returns the options of `block` that are on and have a list. */
export function listOptionsOf(block: RenderOptions['block']): readonly ListOption[] {
  return (Object.keys(listOf) as ListOption[]).filter((option) => block[option] === true);
}

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

/** Conditions of the lists (`!#if`) that are true in this browser. */
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
