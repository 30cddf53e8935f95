import { ENGINE_VERSION, FiltersEngine, parseFilters } from '@ghostery/adblocker';

/** Version of the serialized form, for the manifest. */
export const engineVersion: number = ENGINE_VERSION;

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
