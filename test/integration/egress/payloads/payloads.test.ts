// @module-tag long
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { chromium } from 'playwright';
import { createSystemLookup } from '@webcapture/shared/egress/lookup.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { launchBrowser } from '../../../../services/renderer/browser/launch.ts';
import { commonSwitches, headlessShellSwitches } from '../../../../services/renderer/browser/switches.ts';
import { TestEngine, TestSite, type ShotOptions } from '../../../harness/engine.ts';
import { until } from '../../../harness/until.ts';
import { startDnsServer, type DnsServer } from '../dns-server.ts';
import { publicAddress } from '../sites.ts';
import { foreignUrls, notations, trickyUrls } from './addresses.ts';
import { startCanary, type Canary } from './canary.ts';
import { everyNotation, everyWay, everyWayInHtml, type PayloadPage } from './pages.ts';
import { startPayloadSite, pathOf, type PayloadSite } from './payload-site.ts';
import { changingNames, changingPage, rebindingNames } from './rebinding.ts';
import { socketsOf } from './sockets-of.ts';
import { cssPayloads, scriptPayloads } from './sent-along.ts';
import { plainWays, ways } from './ways.ts';

/** A refused request takes milliseconds, so that a page can try all payloads within its delay. */
const slots = 2;
/** A page of a hundred frames takes long on a busy machine. */
const small = { delay: 1000, viewport: { width: 320, height: 240 }, timeout: 100_000 } satisfies ShotOptions;
const request = { deadlineMs: 150_000 };
const patient = { timeout: 180_000 };

/** Nothing may reach `canary`. `openCanary` shows which payloads could reach it. */
let canary: Canary;
let openCanary: Canary;
let site: PayloadSite;
let dns: DnsServer;
let engine: TestEngine;
let refused = 0;

beforeAll(async () => {
  [canary, openCanary, site] = await Promise.all([startCanary(), startCanary(), startPayloadSite()]);
  dns = await startDnsServer({ ...rebindingNames, ...changingNames });
  const lookup = createSystemLookup({ servers: [dns.address], hostsFile: '/dev/null', resolvConf: '/dev/null' });
  engine = await TestEngine.start({ slots }, [`${publicAddress}/32`], { lookup });
});

afterAll(async () => {
  await engine.close();
  await Promise.all([canary.close(), openCanary.close(), site.close()]);
  dns.close();
  process.stdout.write(
    `${refused} payloads refused, canary ${canary.touches.length === 0 ? 'untouched' : 'TOUCHED'}\n`,
  );
});

const originOf = (host: string, { port }: Canary = canary, scheme = 'http') => `${scheme}://${host}:${port}`;

/** Captures a page of payloads, and expects that they did not reach the canary. */
async function survive({ body, payloads }: PayloadPage, options: ShotOptions = {}): Promise<void> {
  const { report } = await engine.render(site.publish(body), { ...small, ...options }, request);
  expect(canary.touches).toEqual([]);
  expect(report.softTimeouts).toEqual([]);
  // The browser rejects many payloads or merges their requests. The proxy refused the others.
  expect(report.blockedRequests).toBeGreaterThan(payloads / 3);
  refused += payloads;
}

describe('a page cannot reach an internal address', patient, () => {
  test('in any way', () => survive(everyWay(originOf('127.0.0.1'))));

  test('in any way, in the browser for antiBot', () => survive(everyWay(originOf('127.0.0.1')), { antiBot: true }));

  test('in any notation', () => survive(everyNotation(canary.port)));

  test('from supplied HTML, over IPv6 and TLS, in a PDF', async () => {
    const { body, payloads } = everyWayInHtml(originOf('[::1]', canary, 'https'));
    const { report } = await engine.render({ kind: 'html', html: body }, { ...small, format: 'pdf' }, request);
    expect(canary.touches).toEqual([]);
    expect(report.blockedRequests).toBeGreaterThan(payloads / 3);
    refused += payloads;
  });

  test('by names of internal addresses', async () => {
    const urls = Object.keys(rebindingNames).map((name) => `${originOf(name)}/name/x`);
    const body = `<!doctype html><title>names</title>${urls.map((url) => `<img src="${url}">`).join('')}`;
    const { report } = await engine.render(site.publish(body), { ...small, delay: 0 });
    expect(canary.touches).toEqual([]);
    expect(report.blockedRequests).toBe(urls.length);
    refused += urls.length;
  });

  test('by names that change their address', async () => {
    const { report } = await engine.render(site.publish(changingPage(canary.port, site.port)), small);
    const names = Object.keys(changingNames);
    expect(canary.touches).toEqual([]);
    // Every request used the first address of its name, and no name was resolved twice.
    expect(canary.opened()).toBeGreaterThanOrEqual(names.length);
    expect(names.filter((name) => dns.asked.filter((asked) => asked === `${name} A`).length !== 1)).toEqual([]);
    expect(report.blockedRequests).toBe(0);
    refused += 4 * names.length;
  });
});

describe('code in a request cannot reach an internal address', patient, () => {
  const body = '<!doctype html><title>page</title><p>text';
  const inside = (name: string) => `${originOf('127.0.0.1')}/${name}`;

  test('in its style sheet', async () => {
    const rules = cssPayloads(inside);
    const secrets = { css: rules.join('\n') };
    const { report } = await engine.render(site.publish(body), small, { ...request, secrets });
    expect(canary.touches).toEqual([]);
    expect(report.blockedRequests).toBeGreaterThan(rules.length / 3);
    refused += rules.length;
  });

  test('in its script', async () => {
    const statements = scriptPayloads(inside);
    const secrets = { script: statements.map((one) => `{ ${one} }`).join('\n') };
    const { report } = await engine.render(site.publish(body), small, { ...request, secrets });
    expect(canary.touches).toEqual([]);
    expect(report).not.toHaveProperty('scriptError');
    expect(report.title).toBe('page');
    expect(report.blockedRequests).toBeGreaterThan(statements.length / 3);
    refused += statements.length;
  });
});

describe('an address is not captured', patient, () => {
  /** Captures each address, a few concurrently, and returns the outcomes. */
  async function outcomesOf(urls: readonly string[], options: ShotOptions = {}): Promise<Map<string, string>> {
    const outcomes = new Map<string, string>();
    const queue = [...urls];
    const worker = async () => {
      for (let url = queue.pop(); url !== undefined; url = queue.pop()) {
        const outcome = await engine.render(url, { ...small, delay: 0, ...options }).then(
          () => 'captured',
          (error: unknown) => (error instanceof ServiceError ? error.code : String(error)),
        );
        outcomes.set(url, outcome);
      }
    };
    await Promise.all(Array.from({ length: slots }, worker));
    expect(canary.touches).toEqual([]);
    refused += urls.length;
    return outcomes;
  }

  const [blocked, failed] = ['URL_BLOCKED', 'NAVIGATION_FAILED'];
  const others = (outcomes: ReadonlyMap<string, string>, expected: (url: string) => string | undefined) =>
    [...outcomes].filter(([url, outcome]) => outcome !== expected(url));

  test('in a notation or by a name of an internal address', async () => {
    // A sample is sufficient, because pages try each notation (see above).
    const hosts = [...notations.filter((_, index) => index % 16 === 0), 'alias.example', 'two.example', 'six.example'];
    const urls = [...hosts.map((host) => `${originOf(host)}/main`), ...trickyUrls(canary.port).slice(0, 10)];
    const outcomes = await outcomesOf(urls);
    // The browser rejects invalid addresses itself.
    expect(others(outcomes, (url) => (URL.canParse(url) && url.startsWith('http://') ? blocked : failed))).toEqual([]);
  });

  test('with another scheme, or in an ambiguous form', async () => {
    const forms = trickyUrls(canary.port).filter((url) => !/^https?:\/\//i.test(url));
    expect(others(await outcomesOf([...foreignUrls, ...forms]), () => failed)).toEqual([]);
  });

  test('behind a redirect or navigation of any kind', async () => {
    const moves = ['location', 'meta-refresh', 'refresh-header', 'redirect-twice', 'form-post', 'anchor-click'];
    const at = (path: string) => `http://${publicAddress}:${site.port}${path}`;
    const redirected = (status: number, location: string) => at(pathOf({ body: '', status, headers: { location } }));
    // Pages try each status (see above).
    const inside = [
      ...[302, 308].map((status) => redirected(status, originOf('[::1]', canary, 'https'))),
      ...moves.map((name) => {
        const document = ways[name]?.(originOf('127.0.0.1')) ?? '';
        return at(pathOf(typeof document === 'string' ? { body: document } : document));
      }),
    ];
    expect(others(await outcomesOf(inside), () => blocked)).toEqual([]);
    const foreign = ['file:///etc/passwd', 'view-source:http://127.0.0.1/', 'data:text/html,x', 'ftp://127.0.0.1/'];
    const urls = foreign.map((location) => redirected(302, location));
    expect(others(await outcomesOf(urls), () => failed)).toEqual([]);
  });
});

test.each(['headlessShell', 'chromium'] as const)(
  '%s sends nothing from a context without a session, and opens no port',
  async (which) => {
    const switches = which === 'chromium' ? commonSwitches : headlessShellSwitches;
    const { browser, pid, close } = await launchBrowser({
      executablePath: inject('tools')[which],
      sandbox: 'off',
      switches,
    });
    try {
      const page = await browser.newPage();
      // The renderer controls the browser over a pipe, so that a page finds no debugging port.
      expect(await socketsOf(pid)).toEqual([]);
      const { body, payloads } = everyWayInHtml(originOf('127.0.0.1'));
      await page.setContent(body, { timeout: 20_000 });
      await page.goto(originOf('127.0.0.1')).catch(() => undefined);
      // Multicast DNS: for a page with WebRTC, the browser would send names to the local network.
      expect((await socketsOf(pid)).filter((socket) => socket.endsWith(':14E9'))).toEqual([]);
      expect(canary.touches).toEqual([]);
      refused += payloads;
    } finally {
      await close();
    }
  },
);

describe('payloads reach the canary', patient, () => {
  let open: TestEngine;
  beforeAll(async () => {
    open = await TestEngine.start({ slots: 1 }, ['127.0.0.0/8', '::1/128']);
  });
  afterAll(() => open.close());

  test('in nearly every way if the policy allows it', async () => {
    const untried = () => Object.keys(plainWays).filter((name) => !openCanary.asked.has(name));
    // The page loads only after all payloads were tried, or after a timeout.
    const tried = () => until('every way to be tried', () => untried().length === 0).catch(() => undefined);
    const holding = await TestSite.start({ '/held': (_, response) => void tried().then(() => response.end()) });
    try {
      const { body } = everyWay(originOf('127.0.0.1', openCanary));
      const { report } = await open.render(site.publish(`${body}<img src="${holding.url('/held')}">`), small, request);
      expect(report.blockedRequests).toBe(0);
      expect(untried()).toEqual([]);
      for (const host of ['[::1]', 'localhost', '0x7f.1', '2130706433', '[::ffff:127.0.0.1]']) {
        await open.render(originOf(host, openCanary), { ...small, delay: 0 });
      }
    } finally {
      await holding.close();
    }
  });

  test('from code in a request if the policy allows it', async () => {
    const at = (name: string) => `${originOf('127.0.0.1', openCanary)}/sent-${name}`;
    const secrets = { css: cssPayloads(at).join('\n'), script: scriptPayloads(at).slice(0, 1).join('\n') };
    await open.render(site.publish('<!doctype html><p>text'), small, { ...request, secrets });
    expect([...openCanary.asked]).toEqual(expect.arrayContaining(['sent-import', 'sent-background', 'sent-fetch']));
  });

  test('by datagrams without the switches of the browser', async () => {
    const browser = await chromium.launch({ executablePath: inject('tools').headlessShell });
    try {
      const page = await browser.newPage();
      const body = ways['stun']?.(`${originOf('127.0.0.1', openCanary)}/stun/x`) as string;
      await page.goto(site.publish(body), { waitUntil: 'commit' });
      await until('a datagram', () => openCanary.touches.some((touch) => touch.startsWith('udp')));
    } finally {
      await browser.close();
    }
  });
});
