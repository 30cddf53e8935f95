import type { Logger } from '@webcapture/shared/telemetry/logger.ts';
import type { BrowserState } from '../browser/browser-supply.ts';
import { startBrowsers } from '../browser/browsers.ts';
import type { PageEgress } from '../browser/warm-page.ts';
import type { Blocker } from '../blocking/blocker.ts';
import {
  defaultAntiBotIdleMs,
  defaultPageMemoryBytes,
  defaultPatienceMs,
  type RenderEngineConfig,
} from './engine-config.ts';
import { render } from './render.ts';
import type { Rendering, RenderRequest } from './rendering.ts';

export type { RenderEngineConfig } from './engine-config.ts';
export type { Rendering, RenderRequest, RenderSource } from './rendering.ts';

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
      antiBotIdleMs: config.antiBotIdleMs ?? defaultAntiBotIdleMs,
      patienceMs: config.patienceMs ?? defaultPatienceMs,
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
