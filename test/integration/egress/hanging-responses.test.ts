// @module-tag long
import http2, { type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import https from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { chromium, type Browser, type BrowserContext } from 'playwright';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { Lookup } from '@webcapture/shared/egress/lookup.ts';
import { createEgressPolicy } from '@webcapture/shared/egress/policy.ts';
import { deadProxy, egressSwitches } from '../../../services/renderer/browser/switches.ts';
import type { ProxySession } from '../../../services/renderer/egress/proxy.ts';
import { startEgressProxy, type EgressProxy } from '../../../services/renderer/egress/proxy.ts';
import { watchStalls } from '../../../services/renderer/egress/stalls.ts';
import { listen, publicAddress, startSite, type Site } from './sites.ts';
import { tlsFixture } from './tls-fixture.ts';

/** Short, but longer than a response takes on a busy machine. */
const responseTimeoutMs = 1000;

/** Protocol and host of a hanging script. The host of the site is site.example. */
const hangs = [
  ['http', 'site.example'],
  ['http', 'cdn.example'],
  ['h1', 'site.example'],
  ['h1', 'cdn.example'],
  ['h2', 'cdn.example'],
  ['h2', 'site.example'],
] as const;

/** Resolves every name to the public address. */
const lookup: Lookup = async () => [{ address: publicAddress, family: 4 }];

let proxy: EgressProxy;

beforeAll(async () => {
  const policy = createEgressPolicy({ allow: [`${publicAddress}/32`], lookup });
  proxy = await startEgressProxy({ policy, log: { debug: () => undefined }, limits: { responseTimeoutMs } });
});

afterAll(() => proxy.close());

describe.each(['headlessShell', 'chromium'] as const)('%s', (which) => {
  let browser: Browser;

  beforeAll(async () => {
    browser = await chromium.launch({
      executablePath: inject('tools')[which],
      args: [...(which === 'chromium' ? ['--headless=new'] : []), ...egressSwitches],
      proxy: { server: deadProxy },
    });
  });

  afterAll(() => browser.close());

  const withSession = async (use: (context: BrowserContext, session: ProxySession) => Promise<void>): Promise<void> => {
    const session = await proxy.openSession();
    const context = await browser.newContext({ proxy: { server: session.server }, ignoreHTTPSErrors: true });
    try {
      await use(context, session);
    } finally {
      await context.close();
      await session.close();
    }
  };

  it.each(which === 'headlessShell' ? hangs : hangs.slice(-1))(
    'a script that hangs over %s at %s does not block the page',
    (protocol, host) =>
      withSession(async (context, session) => {
        const hanging = await startHangingSite(protocol);
        const origin = (name: string) => `${protocol === 'http' ? 'http' : 'https'}://${name}:${hanging.port}`;
        try {
          const page = await context.newPage();
          const stalls = watchStalls(page, session, { responseTimeoutMs, navigationTimeoutMs: 20_000 });
          const started = performance.now();
          // The document comes after a redirect, and takes longer than the response timeout.
          const to = encodeURIComponent(`/slow?script=${origin(host)}/hang.js`);
          await page.goto(`${origin('site.example')}/redirect?to=${to}`);
          const tookMs = performance.now() - started;
          expect(stalls.gaveUp).toBe(true);
          stalls.stop();
          const shown = 'document.body.innerText + getComputedStyle(document.body).color';
          expect(await page.evaluate(shown)).toBe('shownrgb(255, 0, 0)');
          expect(tookMs).toBeGreaterThan(2.4 * responseTimeoutMs);
          expect(tookMs).toBeLessThan(15_000);
          expect(session.stats().stalledHosts).toEqual([host]);
        } finally {
          await hanging.close();
        }
      }),
  );
});

/** A site with a slow document, whose head has a hanging script and a style sheet that loads. */
async function startHangingSite(protocol: 'http' | 'h1' | 'h2'): Promise<Site> {
  const serve = (request: IncomingMessage | Http2ServerRequest, response: ServerResponse | Http2ServerResponse) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://site');
    const send = (type: string, body: string) => {
      response.setHeader('content-type', type);
      response.end(body);
    };
    const head = `<link rel=stylesheet href=/style.css><script src="${searchParams.get('script')}"></script>`;
    const page = `<!doctype html><title>slow</title>${head}<body>shown`;
    if (pathname === '/redirect') {
      response.statusCode = 302;
      response.setHeader('location', searchParams.get('to') ?? '/');
      response.end();
    } else if (pathname === '/slow') setTimeout(() => send('text/html', page), 1.5 * responseTimeoutMs);
    else if (pathname === '/style.css') send('text/css', 'body { color: red }\n'.repeat(5000));
    else if (pathname !== '/hang.js') send('text/plain', '');
  };
  if (protocol === 'http') return startSite(publicAddress, serve);
  if (protocol === 'h1') return listen(https.createServer(tlsFixture, serve), publicAddress);
  return listen(http2.createSecureServer({ ...tlsFixture, allowHTTP1: true }, serve), publicAddress);
}
