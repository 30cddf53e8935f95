import type { Page, Request } from 'playwright';
import { startTicker } from './connections.ts';
import type { ProxySession } from './proxy.ts';

/** What keeps a page from being parsed or painted at all. Images and fonts only make it late. */
const blockingTypes = new Set(['stylesheet', 'script']);

/** A connection that carries other responses too is cut when those pause for so long. */
const maxSilentMs = 1000;

/**
 * Tells the proxy session what only the browser knows: which request has no response yet when the connection is encrypted or
 * shared. A script or stylesheet that does not begin in time is cut, so that a hanging one in the head does not hold the
 * page; all else has the time of the navigation, the documents of the main frame each for itself, redirects and later
 * navigations included.
 *
 * @param timeouts in milliseconds: for each script and stylesheet to begin, and for all else, that of the navigation
 * @returns `gaveUp`: whether something was cut, so that the page got where it is without it
 */
export function watchStalls(
  page: Page,
  session: ProxySession,
  timeouts: { readonly responseTimeoutMs: number; readonly navigationTimeoutMs: number },
) {
  const { responseTimeoutMs, navigationTimeoutMs } = timeouts;
  const silentMs = Math.min(maxSilentMs, responseTimeoutMs / 4);
  const pending = new Map<Request, number>();
  const slow = new Map<Request, () => void>();
  let gaveUp = false;
  session.setResponseTimeout(navigationTimeoutMs);

  const onRequest = (request: Request) => {
    if (isMainDocument(page, request)) slow.set(request, session.expectSlow(request.url(), navigationTimeoutMs));
    else if (blockingTypes.has(request.resourceType())) pending.set(request, performance.now());
  };
  const responded = (request: Request) => {
    pending.delete(request);
    slow.get(request)?.();
    slow.delete(request);
  };
  const onResponse = (response: { request(): Request }) => responded(response.request());
  const stopTicker = startTicker(silentMs / 2, (now, lateMs) => {
    for (const [request, since] of pending) {
      const begun = Math.min(now, since + lateMs);
      pending.set(request, begun);
      const isInTime = now - begun < responseTimeoutMs;
      if (!isInTime && session.cutSilent(request.url(), silentMs + lateMs) > 0) gaveUp = true;
    }
  });

  page
    .on('request', onRequest)
    .on('response', onResponse)
    .on('requestfailed', responded)
    .on('requestfinished', responded);
  return {
    get gaveUp() {
      return gaveUp;
    },
    stop() {
      stopTicker();
      page.off('request', onRequest).off('response', onResponse);
      page.off('requestfailed', responded).off('requestfinished', responded);
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
