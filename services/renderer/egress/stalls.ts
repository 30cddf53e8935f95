import type { Page, Request } from 'playwright';
import { startTicker } from './connections.ts';
import type { ProxySession } from './proxy.ts';

/** Resource types that block the parsing or painting of a page. Images and fonts only delay the page. */
const blockingTypes = new Set(['stylesheet', 'script']);

/** Maximum time without data before a connection is cut, because it may also carry other responses. */
const maxSilentMs = 1000;

/**
 * Tells the proxy session which requests on encrypted or shared connections have no response yet, which only the browser knows. A script or
 * stylesheet that exceeds its timeout is cut, so that it does not block the page. All other requests have the timeout of the navigation.
 * That timeout starts again for each document of the main frame, including redirects and later navigations.
 *
 * @param timeouts in milliseconds: for the start of each script and stylesheet, and for the start of all other responses
 * @returns `gaveUp`: whether a request was cut, so that the page loaded without it
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
    // Playwright does not know the frame yet, so it cannot be the main frame of this page.
    return false;
  }
}
