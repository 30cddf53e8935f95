import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { BrowserContextOptions } from 'playwright';
import { commonSwitches } from './switches.ts';

/**
 * A way to render for antiBot: which browser is used, and how it is made to resemble a person's browser. Operators configure another
 * provider with WEBCAPTURE_STEALTH_PROVIDER (docs/stealth-providers.md).
 */
export interface StealthProvider {
  /** Name for the log. */
  readonly name: string;
  /** Path of a browser that speaks Chromium's DevTools protocol. */
  readonly executablePath: string;
  /**
   * Returns command-line switches in addition to those that keep the browser's traffic inside the egress proxy. The function may query the
   * executable for its version.
   */
  switches(): readonly string[] | Promise<readonly string[]>;
  /** Switches of Playwright that are omitted. */
  readonly withoutSwitches: readonly string[];
  readonly contextOptions: BrowserContextOptions;
  /** Scripts that run in the page before its own scripts. */
  readonly initScripts: readonly string[];
  /** Returns the size of the screen and the outer size of the window, in CSS pixels, for a page with this viewport. */
  window(viewport: Size): { readonly screen: Size; readonly outer: Size };
}

/** Default export of the module of an operator's provider. */
type MakeStealthProvider = (tools: {
  /** Value of WEBCAPTURE_CHROMIUM_PATH. */
  readonly chromiumPath: string;
}) => StealthProvider | Promise<StealthProvider>;

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** Thrown if the operator's stealth provider is invalid. The message says what to change. */
class StealthProviderError extends Error {
  constructor(path: string, problem: string, options?: { cause?: unknown }) {
    super(`The stealth provider ${path} (WEBCAPTURE_STEALTH_PROVIDER) ${problem}`, options);
    this.name = 'StealthProviderError';
  }
}

const isText = (value: unknown) => typeof value === 'string' && value !== '';
const isTexts = (value: unknown) => Array.isArray(value) && value.every(isText);
const isFunction = (value: unknown) => typeof value === 'function';

/** For each property of a provider, a check and the name of the expected type in messages. */
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
 * Returns the provider that the ES module at `path` creates. Without a path, returns the default one, full Chromium.
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
  if (typeof value !== 'object' || value === null) throw new StealthProviderError(path, 'must return an object.');
  const provider = value as Readonly<Record<string, unknown>>;
  const problems = Object.entries(shape).flatMap(([name, [is, what]]) =>
    is(provider[name]) ? [] : [`${name} must be ${what}`],
  );
  if (problems.length > 0) throw new StealthProviderError(path, `is invalid: ${problems.join('; ')}.`);
  return value as StealthProvider;
}

/** Switches that a provider must not set: Chromium uses only the last one of some of them, and others would bypass the egress proxy. */
const ours = [
  '--disable-features',
  '--blink-settings',
  '--proxy-server',
  '--proxy-bypass-list',
  '--proxy-pac-url',
  '--no-proxy-server',
  '--host-resolver-rules',
  '--user-data-dir',
  '--remote-debugging-port',
];

/**
 * Returns all switches for a provider's browser: the common ones, then those of the provider.
 *
 * @throws Error that names the switches that a provider must not set
 */
export async function stealthSwitches(provider: StealthProvider): Promise<readonly string[]> {
  const own = await provider.switches();
  const refused = own.filter((each) => ours.includes(each.split('=')[0] ?? ''));
  if (refused.length > 0) {
    throw new Error(`The stealth provider ${provider.name} may not set ${refused.join(', ')}.`);
  }
  return [...commonSwitches, ...own];
}

/** A common size of desktop screens. */
const screen = { width: 1920, height: 1080 };
/** Height of the full browser's tabs and address bar. */
const frameHeight = 87;

/**
 * The default provider: full Chromium, which draws its window into memory, without the traces of automation. It identifies itself
 * truthfully as Chromium on Linux, because its fonts and graphics would reveal a false platform.
 */
function createStealthChromium(executablePath: string): StealthProvider {
  return {
    name: 'chromium',
    executablePath,
    switches: () => [
      // Chromium's headless mode identifies itself as HeadlessChrome, and a user agent set by switch has no client
      // hints.
      '--ozone-platform=headless',
      `--ozone-override-screen-size=${screen.width},${screen.height}`,
      // Sets navigator.webdriver to false, as in an ordinary browser.
      '--disable-blink-features=AutomationControlled',
      // Without this switch, a page that prints itself would wait until the preview is closed.
      '--disable-print-preview',
    ],
    withoutSwitches: [
      '--headless',
      '--enable-automation',
      // This switch is omitted: with its popup blocker, the full browser returns null from window.open, as it does for a person.
      '--disable-popup-blocking',
    ],
    contextOptions: {},
    initScripts: [],
    window: ({ width, height }) => ({
      screen: { width: Math.max(screen.width, width), height: Math.max(screen.height, height + frameHeight) },
      outer: { width, height: height + frameHeight },
    }),
  };
}
