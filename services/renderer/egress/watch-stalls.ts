import type { Page, Request } from 'playwright-core';
import type { EgressLane } from './lane.ts';
import { lookRegularly } from './look-regularly.ts';

export interface StallWatchOptions {
  /** For each script and stylesheet to begin, in ms. */
  readonly responseTimeoutMs: number;
  /** For the main document, and whatever else, in ms: that of the navigation. */
  readonly navigationTimeoutMs: number;
}

export interface StallWatch {
  /** Whether something was cut: then the page got where it is without it. */
  readonly gaveUp: boolean;
  stop(): void;
}

/** What keeps a page from being parsed or painted at all. Images and fonts only make it late. */
const holding = new Set(['stylesheet', 'script']);

/** A connection that carries other responses too is cut when those pause for so long. */
const mostSilentMs = 1000;

/**
 * Brings the lane what only the browser knows: which request has no response yet when the connection is encrypted or
 * shared. A script or stylesheet that does not begin in time is cut, so that a hanging one in the head does not hold the
 * page; all else has the time of the navigation, the documents of the main frame each for itself, redirects and later
 * navigations included.
 */
export function watchStalls(page: Page, lane: EgressLane, options: StallWatchOptions): StallWatch {
  const { responseTimeoutMs, navigationTimeoutMs } = options;
  const silentMs = Math.min(mostSilentMs, responseTimeoutMs / 4);
  const pending = new Map<Request, number>();
  const slow = new Map<Request, () => void>();
  let gaveUp = false;
  lane.setResponseTimeout(navigationTimeoutMs);

  const onRequest = (request: Request) => {
    if (isMainDocument(page, request)) slow.set(request, lane.expectSlow(request.url(), navigationTimeoutMs));
    else if (holding.has(request.resourceType())) pending.set(request, performance.now());
  };
  const settled = (request: Request) => {
    pending.delete(request);
    slow.get(request)?.();
    slow.delete(request);
  };
  const onResponse = (response: { request(): Request }) => settled(response.request());
  const stopLooking = lookRegularly(silentMs / 2, (now, lateMs) => {
    for (const [request, since] of pending) {
      const begun = Math.min(now, since + lateMs);
      pending.set(request, begun);
      const isInTime = now - begun < responseTimeoutMs;
      if (!isInTime && lane.cutSilent(request.url(), silentMs + lateMs) > 0) gaveUp = true;
    }
  });

  page.on('request', onRequest).on('response', onResponse).on('requestfailed', settled).on('requestfinished', settled);
  return {
    get gaveUp() {
      return gaveUp;
    },
    stop() {
      stopLooking();
      page.off('request', onRequest).off('response', onResponse);
      page.off('requestfailed', settled).off('requestfinished', settled);
      for (const release of slow.values()) release();
    },
  };
}

function isMainDocument(page: Page, request: Request): boolean {
  try {
    return request.isNavigationRequest() && request.frame() === page.mainFrame();
  } catch {
    // A frame that the driver has not met yet: not the one of this page.
    return false;
  }
}
