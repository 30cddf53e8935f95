import type { Logger } from '@webcapture/shared/telemetry/logger.ts';
import type { Blocker } from '../blocking/blocker.ts';
import type { BrowserState } from '../browser/browser-pool.ts';
import { startBrowsers } from '../browser/browsers.ts';
import type { PageEgress } from '../browser/page.ts';
import { render, type Rendering, type RenderRequest } from './render.ts';

export type { RenderSource } from './navigate.ts';
export type { Rendering, RenderRequest } from './render.ts';

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
  /** A browser that answers nothing for so many milliseconds is killed, and another one takes its place. */
  readonly livenessTimeoutMs?: number;
  /** The browser for antiBot is closed after so many milliseconds without work. */
  readonly antiBotIdleTimeoutMs?: number;
  /** Path of the module that makes the stealth provider; without one it is full Chromium. */
  readonly stealthProvider?: string | undefined;
}

const defaultPageMemoryBytes = 768 * 1024 * 1024;
const defaultLivenessTimeoutMs = 15_000;
const defaultAntiBotIdleTimeoutMs = 3 * 60_000;

export interface RenderEngine {
  /**
   * Renders one page.
   *
   * @throws ServiceError NAVIGATION_FAILED, URL_BLOCKED, CAPTURE_TIMEOUT, PAGE_TOO_LARGE, or CAPTURE_FAILED; the cause of
   *   the last one is a BrowserLostError when the browser went away, which may be another page's fault
   */
  render(request: RenderRequest): Promise<Rendering>;
  browserState(): BrowserState;
  /** Ends the browsers, with whatever still runs in them. */
  close(): Promise<void>;
}

export interface RenderEngineDeps {
  readonly log: Logger;
  readonly egress: PageEgress;
  readonly blocker: Blocker;
}

/**
 * Starts the browser that captures share, with its warm pages.
 *
 * @throws Error that says what is missing, when the browser or its sandbox cannot be started
 */
export async function startRenderEngine(config: RenderEngineConfig, deps: RenderEngineDeps): Promise<RenderEngine> {
  const browsers = await startBrowsers(
    {
      headlessShellPath: config.headlessShellPath,
      chromiumPath: config.chromiumPath,
      sandbox: config.sandbox,
      slots: config.slots,
      capturesPerBrowser: config.capturesPerBrowser,
      browserMemoryBytes: config.browserMemoryBytes,
      pageMemoryBytes: config.pageMemoryBytes ?? defaultPageMemoryBytes,
      antiBotIdleTimeoutMs: config.antiBotIdleTimeoutMs ?? defaultAntiBotIdleTimeoutMs,
      livenessTimeoutMs: config.livenessTimeoutMs ?? defaultLivenessTimeoutMs,
      stealthProvider: config.stealthProvider,
    },
    deps,
  );
  const { responseTimeoutMs } = config;
  return {
    render: (request) => render(request, { browsers, blocker: deps.blocker, responseTimeoutMs }),
    browserState: () => browsers.state,
    close: () => browsers.close(),
  };
}
