import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { StealthProvider } from './stealth-provider.ts';
import { commonSwitches } from './switches.ts';

/** A common size of a desktop's screen. */
const screen = { width: 1920, height: 1080 };
/** Tabs and address bar of the full browser. */
const frameHeight = 87;

/**
 * The default provider: full Chromium in its new headless mode, which is the browser that people use without a window,
 * with the traces of automation removed. It is honest about what it is, Chromium on Linux: made-up platforms are told
 * by their fonts and graphics.
 */
export function createStealthChromium(executablePath: string): StealthProvider {
  return {
    name: 'chromium',
    executablePath,
    switches: async () => [
      ...commonSwitches,
      // navigator.webdriver is false then, as for everybody.
      '--disable-blink-features=AutomationControlled',
      `--user-agent=${await readUserAgent(executablePath)}`,
      `--screen-info={${screen.width}x${screen.height}}`,
    ],
    withoutSwitches: [
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

/** The browser's own user agent, of which headless mode makes `HeadlessChrome`. */
async function readUserAgent(executablePath: string): Promise<string> {
  const { stdout } = await promisify(execFile)(executablePath, ['--version'], { timeout: 10_000 });
  const major = /\b(\d+)\.\d+\.\d+\.\d+/.exec(stdout)?.[1];
  if (major === undefined) throw new Error(`${executablePath} --version tells no version`);
  return `Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/${major}.0.0.0 Safari/537.36`;
}
