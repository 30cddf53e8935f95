import type { StealthProvider } from './stealth-provider.ts';

/** A common size of a desktop's screen. */
const screen = { width: 1920, height: 1080 };
/** Tabs and address bar of the full browser. */
const frameHeight = 87;

/**
 * The default provider: full Chromium as people use it, drawing its window into memory, with the traces of automation
 * removed. It is honest about what it is, Chromium on Linux: made-up platforms are told by their fonts and graphics.
 */
export function createStealthChromium(executablePath: string): StealthProvider {
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
