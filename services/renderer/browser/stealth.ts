import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { BrowserContextOptions } from 'playwright';
import { commonSwitches } from './switches.ts';

/**
 * A way to render for antiBot: which browser, and how it is made to look like one that a person uses. Operators plug in
 * one of their own with WEBCAPTURE_STEALTH_PROVIDER (docs/stealth-providers.md).
 */
export interface StealthProvider {
  /** For the log. */
  readonly name: string;
  /** A browser that speaks Chromium's DevTools protocol. */
  readonly executablePath: string;
  /**
   * Command-line switches beside those that keep the browser's traffic inside of the egress proxy; may ask the
   * executable for its version.
   */
  switches(): readonly string[] | Promise<readonly string[]>;
  /** Playwright's switches to leave out. */
  readonly withoutSwitches: readonly string[];
  readonly contextOptions: BrowserContextOptions;
  /** Run in the page before its own scripts. */
  readonly initScripts: readonly string[];
  /** The screen and the frame of the window, in CSS pixels, that a page with this viewport would be seen in. */
  window(viewport: Size): { readonly screen: Size; readonly outer: Size };
}

/** What the module of an operator's provider exports as its default. */
type MakeStealthProvider = (tools: {
  /** WEBCAPTURE_CHROMIUM_PATH. */
  readonly chromiumPath: string;
}) => StealthProvider | Promise<StealthProvider>;

export interface Size {
  readonly width: number;
  readonly height: number;
}

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

/** Switches of which Chromium obeys the last one only, and those that would lead traffic past the egress proxy. */
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
 * All switches that a provider's browser is launched with: those of every browser, then its own.
 *
 * @throws Error that names the switches that a provider may not set
 */
export async function stealthSwitches(provider: StealthProvider): Promise<readonly string[]> {
  const own = await provider.switches();
  const refused = own.filter((each) => ours.includes(each.split('=')[0] ?? ''));
  if (refused.length > 0) {
    throw new Error(`The stealth provider ${provider.name} may not set ${refused.join(', ')}.`);
  }
  return [...commonSwitches, ...own];
}

/** A common size of a desktop's screen. */
const screen = { width: 1920, height: 1080 };
/** Tabs and address bar of the full browser. */
const frameHeight = 87;

/**
 * The default provider: full Chromium as people use it, drawing its window into memory, with the traces of automation
 * removed. It is honest about what it is, Chromium on Linux: made-up platforms are told by their fonts and graphics.
 */
function createStealthChromium(executablePath: string): StealthProvider {
  return {
    name: 'chromium',
    executablePath,
    switches: () => [
      // Its own headless mode calls itself HeadlessChrome, and a user agent given by switch has no client hints.
      '--ozone-platform=headless',
      `--ozone-override-screen-size=${screen.width},${screen.height}`,
      // navigator.webdriver is false then, as for everybody.
      '--disable-blink-features=AutomationControlled',
      // A page that prints itself would wait for somebody to close the preview.
      '--disable-print-preview',
    ],
    withoutSwitches: [
      '--headless',
      '--enable-automation',
      // With its popup blocker the full browser returns null from window.open, as it does for people.
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
