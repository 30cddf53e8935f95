import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { createHash } from 'node:crypto';
import http2, { type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import https from 'node:https';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { networkInterfaces } from 'node:os';
import { chromium, type Browser, type BrowserContext } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { Lookup } from '@webcapture/shared/egress/lookup.ts';
import { createEgressPolicy } from '@webcapture/shared/egress/policy.ts';
import { deadProxy, egressSwitches } from '../../../services/renderer/egress/chromium-switches.ts';
import type { EgressLane } from '../../../services/renderer/egress/lane.ts';
import { startEgressProxy, type EgressProxy } from '../../../services/renderer/egress/proxy.ts';
import { watchStalls } from '../../../services/renderer/egress/watch-stalls.ts';
import { probe } from './leak-probe.ts';
import { innerAddress, listen, publicAddress, startSite, type Site } from './sites.ts';
import { tlsFixture } from './tls-fixture.ts';

const responseTimeoutMs = 500;

/** Which protocol a script hangs over, and at which host; the site itself is site.example. */
const hangs = [
  ['http', 'site.example'],
  ['http', 'cdn.example'],
  ['h1', 'site.example'],
  ['h1', 'cdn.example'],
  ['h2', 'cdn.example'],
  ['h2', 'site.example'],
] as const;

/** Every name is the public address, but for those below inner.example. */
const lookup: Lookup = async (name) => {
  return [{ address: name.endsWith('inner.example') ? innerAddress : publicAddress, family: 4 }];
};

/** What arrived where nothing may arrive. */
const leaks: string[] = [];
let canaries: Site[] = [];
let udp: UdpSocket;
let site: Site;
let proxy: EgressProxy;

beforeAll(async () => {
  const canary: RequestListener = (request, response) => {
    leaks.push(`http ${request.headers.host}${request.url}`);
    response.end('secret');
  };
  const prepare = (server: NodeJS.EventEmitter) => server.on('connection', () => leaks.push('tcp'));
  const first = await startSite(innerAddress, canary, prepare);
  canaries = [first];
  for (const { address } of machineAddresses()) canaries.push(await startSite(address, canary, prepare, first.port));
  udp = createSocket('udp6', (message) => leaks.push(`udp ${message.length} bytes`)).bind(0, '::');
  await once(udp, 'listening');

  site = await startSite(publicAddress, serveProbe, (server) => server.on('upgrade', acceptWebSocket));
  const policy = createEgressPolicy({ allow: [`${publicAddress}/32`], lookup });
  proxy = await startEgressProxy({ policy, log: { debug: () => undefined }, limits: { responseTimeoutMs } });
});

afterAll(async () => {
  await proxy.close();
  for (const server of [site, ...canaries]) await server.close();
  udp.close();
});

describe.each(['headlessShell', 'chromium'] as const)('%s', (which) => {
  let browser: Browser;

  const launch = (args: readonly string[], server?: string) =>
    chromium.launch({
      executablePath: inject('tools')[which],
      args: [...(which === 'chromium' ? ['--headless=new'] : []), ...args],
      ...(server && { proxy: { server } }),
    });

  beforeAll(async () => {
    browser = await launch(egressSwitches, deadProxy);
  });

  afterAll(() => browser.close());

  const withLane = async (use: (context: BrowserContext, lane: EgressLane) => Promise<void>): Promise<void> => {
    const lane = await proxy.openLane();
    const context = await browser.newContext({ proxy: { server: lane.server }, ignoreHTTPSErrors: true });
    try {
      await use(context, lane);
    } finally {
      await context.close();
      await lane.close();
    }
  };

  const probeFor = (context: BrowserContext) => {
    const machine = machineAddresses().map(({ address, family }) => (family === 'IPv6' ? `[${address}]` : address));
    return probe(context, {
      site: `http://${publicAddress}:${site.port}`,
      port: canaries[0]?.port ?? 0,
      udpPort: udp.address().port,
      machine,
    });
  };

  it('reaches what the policy opens: pages, redirects, WebSockets', () =>
    withLane(async (context, lane) => {
      leaks.length = 0;
      const page = await context.newPage();
      const response = await page.goto(`http://site.example:${site.port}/redirect?to=/page`);
      expect(response?.status()).toBe(200);
      const echo = await page.evaluate<string>(
        `new Promise((resolve, reject) => {
           const socket = new WebSocket('ws://other.example:${site.port}/echo');
           socket.onopen = () => resolve('open');
           socket.onerror = () => reject(new Error('no WebSocket'));
         })`,
      );
      expect(echo).toBe('open');
      expect(lane.stats()).toMatchObject({ blockedRequests: 0, failedRequests: 0 });
    }));

  it('tells the navigation when an address or a redirect is refused', () =>
    withLane(async (context, lane) => {
      const port = canaries[0]?.port ?? 0;
      const refused = async (url: string) => {
        const page = await context.newPage();
        const status = await page.goto(url).then(
          (response) => response?.status(),
          (error: Error) => /ERR_TUNNEL_CONNECTION_FAILED/.exec(error.message)?.[0] ?? error.message,
        );
        await page.close();
        return status;
      };
      expect(await refused(`http://deep.inner.example:${port}/`)).toBe(403);
      expect(lane.wasBlocked(`http://deep.inner.example:${port}/`)).toBe(true);
      const to = encodeURIComponent(`https://other.inner.example:${port}/`);
      expect(await refused(`http://site.example:${site.port}/redirect?to=${to}`)).toBe('ERR_TUNNEL_CONNECTION_FAILED');
      expect(lane.wasBlocked(`https://other.inner.example:${port}/`)).toBe(true);
      expect(lane.wasBlocked(`http://site.example:${site.port}/`)).toBe(false);
    }));

  it('lets nothing past its lane, whatever a page tries', () =>
    withLane(async (context, lane) => {
      leaks.length = 0;
      await probeFor(context);
      expect(leaks).toEqual([]);
      expect(lane.stats().blockedRequests).toBeGreaterThan(40);
    }));

  it('lets nothing out of a context without a lane', async () => {
    leaks.length = 0;
    const context = await browser.newContext();
    await probeFor(context);
    await context.close();
    expect(leaks).toEqual([]);
  });

  it('would let much out without all this', async () => {
    leaks.length = 0;
    const open = await launch([]);
    try {
      await probeFor(await open.newContext());
    } finally {
      await open.close();
    }
    const paths = new Set(leaks.map((leak) => /\/(\w+)$/.exec(leak)?.[1] ?? leak.split(' ')[0]));
    const expected = [
      'udp',
      'tcp',
      'navigation',
      'image',
      'frame',
      'prefetch',
      'fetch',
      'beacon',
      'keepalive',
      'socket',
      'worker',
      'stream',
    ];
    expect([...paths]).toEqual(expect.arrayContaining(expected));
  });

  it.each(which === 'headlessShell' ? hangs : hangs.slice(-1))(
    'does not let a script hold the page that hangs over %s at %s',
    (protocol, host) =>
      withLane(async (context, lane) => {
        const hanging = await startHangingSite(protocol);
        const origin = (name: string) => `${protocol === 'http' ? 'http' : 'https'}://${name}:${hanging.port}`;
        try {
          const page = await context.newPage();
          const stalls = watchStalls(page, lane, { responseTimeoutMs, navigationTimeoutMs: 20_000 });
          const started = performance.now();
          // The document itself takes longer than a response may, at the end of a redirect.
          const to = encodeURIComponent(`/slow?script=${origin(host)}/hang.js`);
          await page.goto(`${origin('site.example')}/redirect?to=${to}`);
          const tookMs = performance.now() - started;
          expect(stalls.gaveUp).toBe(true);
          stalls.stop();
          const shown = 'document.body.innerText + getComputedStyle(document.body).color';
          expect(await page.evaluate(shown)).toBe('shownrgb(255, 0, 0)');
          expect(tookMs).toBeGreaterThan(2.4 * responseTimeoutMs);
          expect(tookMs).toBeLessThan(10_000);
          expect(lane.stats().stalledHosts).toEqual([host]);
        } finally {
          await hanging.close();
        }
      }),
  );
});

/** The addresses of this machine that a page could go for, beside loopback. */
function machineAddresses(): { address: string; family: string }[] {
  const outer = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  const usable = outer.filter(({ address, internal }) => !internal && !address.startsWith('fe80'));
  return [{ address: '::1', family: 'IPv6' }, ...usable.slice(0, 2)].filter(({ address }) => {
    return Object.values(networkInterfaces()).some((list) => list?.some((known) => known.address === address));
  });
}

function serveProbe(request: IncomingMessage, response: ServerResponse): void {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://site');
  if (pathname === '/redirect') {
    response.writeHead(302, { location: searchParams.get('to') ?? '/' }).end();
  } else if (pathname.endsWith('.js')) {
    response.writeHead(200, { 'content-type': 'text/javascript' });
    response.end(`fetch('http://127.0.0.1:${searchParams.get('port')}/worker').catch(() => undefined);`);
  } else {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>page</h1>');
  }
}

function acceptWebSocket(request: IncomingMessage, socket: NodeJS.WritableStream): void {
  const accept = createHash('sha1').update(
    `${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`,
  );
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
      `Sec-WebSocket-Accept: ${accept.digest('base64')}\r\n\r\n`,
  );
}

/** A site whose document is slow and whose head has a script that never comes, beside a stylesheet that does. */
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
