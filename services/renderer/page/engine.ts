import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import type { Blocker } from '../blocking/blocker.ts';
import type { BrowserState } from '../browser/browser-pool.ts';
import { startBrowsers, type BrowsersConfig } from '../browser/browsers.ts';
import type { PageEgress } from '../browser/page.ts';
import type { WipeOutcome } from '../browser/page-wipe.ts';
import { floodMessage, PageLimitError, type Resource } from '../browser/resource-guard.ts';
import { BrowserSilentError, render, type RenderDeps, type Rendering, type RenderRequest } from './render.ts';

export type { RenderSource } from './navigate.ts';
export type { Rendering, RenderRequest } from './render.ts';

/** Settings of the engine that the operator controls. */
export interface RenderEngineConfig extends BrowsersConfig {
  /** Maximum wait for the response to a request for a script or stylesheet, in milliseconds. Default: half of `timeout`. */
  readonly responseTimeoutMs?: number;
  /** Time in milliseconds after which the scripts of a page that does not respond are stopped. Default: the limit of each step. */
  readonly answerTimeoutMs?: number;
}

export interface RenderEngine {
  /**
   * Renders one page. If a capture times out while its browser does not respond, it is retried once in a separate browser.
   *
   * @throws ServiceError NAVIGATION_FAILED, URL_BLOCKED, CAPTURE_TIMEOUT, PAGE_TOO_LARGE, or CAPTURE_FAILED. The cause of CAPTURE_FAILED
   * is a BrowserLostError if the browser exited, which may not be the page's fault, and a PageLimitError if the page exceeded a
   * resource limit.
   */
  render(request: RenderRequest): Promise<Rendering>;
  browserState(): BrowserState;
  /** Closes the browsers and ends all captures that are running. */
  close(): Promise<void>;
}

export interface RenderEngineDeps {
  readonly log: Logger;
  readonly egress: PageEgress;
  readonly blocker: Blocker;
  /** Called for each capture that is ended because its page exceeded a resource limit. */
  readonly onPageLimit?: (resource: Resource) => void;
  /** Called for each capture that reuses the page of an earlier capture of the same account. */
  readonly onPageReused?: () => void;
  /** Called with the outcome for each page that was selected for reuse. */
  readonly onWipe?: (outcome: WipeOutcome) => void;
}

/**
 * Starts one browser for each concurrent capture, with warm pages.
 *
 * @throws Error that says what is missing, if the browser or its sandbox cannot be started
 */
export async function startRenderEngine(config: RenderEngineConfig, deps: RenderEngineDeps): Promise<RenderEngine> {
  const browsers = await startBrowsers(config, deps);
  const { responseTimeoutMs, answerTimeoutMs } = config;
  const renderDeps = { browsers, blocker: deps.blocker, responseTimeoutMs, answerTimeoutMs };
  return {
    render: (request) => renderTwice(request, renderDeps, deps),
    browserState: () => browsers.state,
    close: () => browsers.close(),
  };
}

const isSilence = (error: unknown) => error instanceof ServiceError && error.cause instanceof BrowserSilentError;

/** Renders a page. If the first browser did not respond, renders it again in a separate browser. */
async function renderTwice(
  request: RenderRequest,
  deps: RenderDeps,
  { log, onPageLimit }: RenderEngineDeps,
): Promise<Rendering> {
  try {
    return await render(request, deps);
  } catch (error) {
    if (!isSilence(error)) throw error;
    log.warn({ err: error }, 'capture timed out in an unresponsive browser; retrying in another browser');
  }
  try {
    return await render({ ...request, ownBrowser: true }, deps);
  } catch (error) {
    // Both attempts failed, although the second browser ran nothing else.
    if (!isSilence(error)) throw error;
    onPageLimit?.('messages');
    throw new ServiceError('CAPTURE_FAILED', floodMessage, {
      causedBy: 'page',
      cause: new PageLimitError('messages', error),
    });
  }
}
