import type { CDPSession } from 'playwright-core';

/**
 * Where supplied html renders: an origin of its own that no server can have. (`.invalid` is reserved, RFC 2606; as https
 * it has the powers of any other web page, and none of those of about:blank or file.)
 */
export const htmlUrl = 'https://html.webcapture.invalid/';

/**
 * Answers the navigation to {@link htmlUrl} with the html, inside of the browser. Everything else that the page asks
 * for takes its usual way. Call the returned function once the page has arrived: the address is then as dead as any
 * other of that origin.
 */
export async function serveHtml(cdp: CDPSession, html: string): Promise<() => Promise<void>> {
  const body = Buffer.from(html, 'utf8').toString('base64');
  cdp.on('Fetch.requestPaused', ({ requestId }) => {
    // Rejects when the page is gone.
    void cdp
      .send('Fetch.fulfillRequest', {
        requestId,
        responseCode: 200,
        responseHeaders: [{ name: 'content-type', value: 'text/html; charset=utf-8' }],
        body,
      })
      .catch(() => undefined);
  });
  await cdp.send('Fetch.enable', { patterns: [{ urlPattern: htmlUrl, resourceType: 'Document' }] });
  return async () => {
    await cdp.send('Fetch.disable').catch(() => undefined);
  };
}
