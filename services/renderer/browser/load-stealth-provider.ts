import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createStealthChromium } from './stealth-chromium.ts';
import type { MakeStealthProvider, StealthProvider } from './stealth-provider.ts';

/** The operator's stealth provider cannot be used; the message says what to change. */
class StealthProviderError extends Error {
  constructor(path: string, problem: string, options?: { cause?: unknown }) {
    super(`The stealth provider ${path} (WEBCAPTURE_STEALTH_PROVIDER) ${problem}`, options);
    this.name = 'StealthProviderError';
  }
}

const isText = (value: unknown) => typeof value === 'string' && value !== '';
const isTexts = (value: unknown) => Array.isArray(value) && value.every(isText);
const isFunction = (value: unknown) => typeof value === 'function';

/** What each property of a provider has to be, and how that is called in a message. */
const shape: Readonly<Record<keyof StealthProvider, readonly [is: (value: unknown) => boolean, what: string]>> = {
  name: [isText, 'a text'],
  executablePath: [isText, 'the path of a browser'],
  switches: [isFunction, 'a function that returns switches'],
  withoutSwitches: [isTexts, 'a list of switches'],
  contextOptions: [(value) => typeof value === 'object' && value !== null, 'an object'],
  initScripts: [isTexts, 'a list of scripts'],
  window: [isFunction, 'a function that returns the sizes of screen and window'],
};

/**
 * The provider that the ES module at `path` makes; without a path the default one, full Chromium.
 *
 * @throws StealthProviderError
 */
export async function loadStealthProvider(path: string | undefined, chromiumPath: string): Promise<StealthProvider> {
  if (path === undefined) return createStealthChromium(chromiumPath);
  const make = await importDefault(path);
  if (typeof make !== 'function') throw new StealthProviderError(path, 'must export a function as its default.');
  let provider: unknown;
  try {
    provider = await (make as MakeStealthProvider)({ chromiumPath });
  } catch (error) {
    throw new StealthProviderError(path, `failed: ${String(error)}`, { cause: error });
  }
  return assertProvider(path, provider);
}

async function importDefault(path: string): Promise<unknown> {
  try {
    const module = (await import(pathToFileURL(resolve(path)).href)) as { default?: unknown };
    return module.default;
  } catch (error) {
    throw new StealthProviderError(path, `cannot be loaded: ${String(error)}`, { cause: error });
  }
}

function assertProvider(path: string, value: unknown): StealthProvider {
  if (typeof value !== 'object' || value === null) throw new StealthProviderError(path, 'must make an object.');
  const provider = value as Readonly<Record<string, unknown>>;
  const problems = Object.entries(shape).flatMap(([name, [is, what]]) =>
    is(provider[name]) ? [] : [`${name} must be ${what}`],
  );
  if (problems.length > 0) throw new StealthProviderError(path, `is not complete: ${problems.join('; ')}.`);
  return value as StealthProvider;
}
