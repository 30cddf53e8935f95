import type { Page, Request } from 'playwright-core';
import type { EgressLane } from './lane.ts';

export interface StallWatchOptions {
  /** For each response to begin, in ms; that of the lane's limits. */
  readonly responseTimeoutMs: number;
  /** For the main document, in ms: that of the navigation. */
  readonly navigationTimeoutMs: number;
}

/** What a page waits for before it is loaded. Others may hang, and their connection may carry streams that do not. */
const holding = new Set(['document', 'stylesheet', 'script', 'image', 'font']);

/** A connection that carries other responses too is cut when those pause for so long. */
const mostSilentMs = 1000;

/**
 * Brings the lane what only the browser knows: which request has no response yet when the connection is encrypted or
 * shared. A response that does not begin in time is cut, so that a hanging script or stylesheet in the head does not
 * hold the page; the documents of the main frame, redirects and later navigations included, have the time of the
 * navigation. Call the returned function to stop.
 */
export function watchStalls(page: Page, lane: EgressLane, options: StallWatchOptions): () => void {
  const { responseTimeoutMs, navigationTimeoutMs } = options;
  const silentMs = Math.min(mostSilentMs, responseTimeoutMs / 4);
  const pending = new Map<Request, number>();
  const slow = new Map<Request, () => void>();

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
  const clock = setInterval(() => {
    const before = performance.now() - responseTimeoutMs;
    for (const [request, since] of pending) if (since <= before) lane.cutSilent(request.url(), silentMs);
  }, silentMs / 2);
  clock.unref();

  page.on('request', onRequest).on('response', onResponse).on('requestfailed', settled).on('requestfinished', settled);
  return () => {
    clearInterval(clock);
    page.off('request', onRequest).off('response', onResponse);
    page.off('requestfailed', settled).off('requestfinished', settled);
    for (const release of slow.values()) release();
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
