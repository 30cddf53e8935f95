import type { BrowserContextOptions } from 'playwright-core';

/**
 * A way to render for antiBot: which browser, and how it is made to look like one that a person uses. Another provider
 * (another browser, a patched one) is another object of this kind.
 */
export interface StealthProvider {
  readonly name: string;
  readonly executablePath: string;
  /** Command-line switches; may ask the executable for its version. */
  switches(): Promise<readonly string[]>;
  /** Playwright's switches to leave out. */
  readonly withoutSwitches: readonly string[];
  readonly contextOptions: BrowserContextOptions;
  /** Run in the page before its own scripts. */
  readonly initScripts: readonly string[];
  /** The screen and the frame of the window, in CSS pixels, that a page with this viewport would be seen in. */
  window(viewport: Size): { readonly screen: Size; readonly outer: Size };
}

export interface Size {
  readonly width: number;
  readonly height: number;
}
