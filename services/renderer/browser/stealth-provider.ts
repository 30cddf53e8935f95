import type { BrowserContextOptions } from 'playwright-core';

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
export type MakeStealthProvider = (tools: {
  /** WEBCAPTURE_CHROMIUM_PATH. */
  readonly chromiumPath: string;
}) => StealthProvider | Promise<StealthProvider>;

export interface Size {
  readonly width: number;
  readonly height: number;
}
