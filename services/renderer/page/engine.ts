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

/** What the operator decides of the engine. */
export interface RenderEngineConfig extends BrowsersConfig {
  /** A script or stylesheet that does not begin within so many milliseconds is given up; by default half of `timeout`. */
  readonly responseTimeoutMs?: number;
  /** The scripts of a page that answers no question for this many milliseconds are stopped; by default each step has a limit. */
  readonly answerTimeoutMs?: number;
}

export interface RenderEngine {
  /**
   * Renders one page.
   *
   * A capture that times out while its browser does not answer is tried once more, in a browser of its own.
   *
   * @throws ServiceError NAVIGATION_FAILED, URL_BLOCKED, CAPTURE_TIMEOUT, PAGE_TOO_LARGE, or CAPTURE_FAILED; the cause of
   *   the last one is a BrowserLostError when the browser went away, which may not be the page's fault, and a
   *   PageLimitError when the page took more than it may
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
  /** Called for each capture that is ended since its page took too much. */
  readonly onPageLimit?: (resource: Resource) => void;
  /** Called for each capture that gets the page of an earlier one of its account. */
  readonly onPageReused?: () => void;
  /** Called for each page that another capture of its account was to use. */
  readonly onWipe?: (outcome: WipeOutcome) => void;
}

/**
 * Starts the browsers, one for each capture that can run at a time, with warm pages.
 *
 * @throws Error that says what is missing, when the browser or its sandbox cannot be started
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

/** Renders a page, and once more in a browser of its own where the browser did not answer. */
async function renderTwice(
  request: RenderRequest,
  deps: RenderDeps,
  { log, onPageLimit }: RenderEngineDeps,
): Promise<Rendering> {
  try {
    return await render(request, deps);
  } catch (error) {
    if (!isSilence(error)) throw error;
    log.warn({ err: error }, 'a capture timed out in a browser that did not answer; trying again in another one');
  }
  try {
    return await render({ ...request, ownBrowser: true }, deps);
  } catch (error) {
    // Twice, and in a browser that did nothing else.
    if (!isSilence(error)) throw error;
    onPageLimit?.('messages');
    throw new ServiceError('CAPTURE_FAILED', floodMessage, {
      causedBy: 'page',
      cause: new PageLimitError('messages', error),
    });
  }
}
