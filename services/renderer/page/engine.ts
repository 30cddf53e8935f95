import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import type { Blocker } from '../blocking/blocker.ts';
import type { BrowserState } from '../browser/browser-pool.ts';
import { startBrowsers, type BrowsersConfig } from '../browser/browsers.ts';
import type { PageEgress } from '../browser/page.ts';
import { render, type Rendering, type RenderRequest } from './render.ts';

export type { RenderSource } from './navigate.ts';
export type { Rendering, RenderRequest } from './render.ts';

/** What the operator decides of the engine. */
export interface RenderEngineConfig extends BrowsersConfig {
  /** A script or stylesheet that does not begin within so many milliseconds is given up; by default half of `timeout`. */
  readonly responseTimeoutMs?: number;
}

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
  const browsers = await startBrowsers(config, deps);
  const { responseTimeoutMs } = config;
  return {
    render: (request) => render(request, { browsers, blocker: deps.blocker, responseTimeoutMs }),
    browserState: () => browsers.state,
    close: () => browsers.close(),
  };
}
