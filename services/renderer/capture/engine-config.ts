/** What the operator decides of the engine. */
export interface RenderEngineConfig {
  /** Renders everything but antiBot. */
  readonly headlessShellPath: string;
  /** The full browser, for antiBot. */
  readonly chromiumPath: string;
  readonly sandbox: 'on' | 'off';
  /** Captures at a time; so many pages are kept warm. */
  readonly slots: number;
  /** A browser is replaced after so many captures. */
  readonly capturesPerBrowser: number;
  /** A browser is replaced when its processes hold more memory than this. */
  readonly browserMemoryBytes: number;
  /** A page whose own process holds more memory than this is ended, and its capture with it. */
  readonly pageMemoryBytes?: number;
  /** A script or stylesheet that does not begin within so many milliseconds is given up; by default half of `timeout`. */
  readonly responseTimeoutMs?: number;
  /** A browser that answers nothing for so many milliseconds is ended, and another one takes its place. */
  readonly patienceMs?: number;
  /** The browser for antiBot is closed after so many milliseconds without work. */
  readonly antiBotIdleMs?: number;
  /** Path of the module that makes the stealth provider; without one it is full Chromium. */
  readonly stealthProvider?: string | undefined;
}

export const defaultPageMemoryBytes = 768 * 1024 * 1024;
export const defaultPatienceMs = 15_000;
export const defaultAntiBotIdleMs = 3 * 60_000;
