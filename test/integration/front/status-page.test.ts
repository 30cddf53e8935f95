import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AxeBuilder } from '@axe-core/playwright';
import type { FastifyInstance } from 'fastify';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright';
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest';
import type { OverallStatus } from '@webcapture/shared/api/status.ts';
import type { StatusHistory } from '@webcapture/shared/api/status-history.ts';
import type { StatusView } from '../../../services/front/status-cache.ts';
import type { HistoryCache } from '../../../services/front/plugins/status-page/history-cache.ts';
import { freePort } from '../../harness/free-port.ts';
import { AnswerCheck } from '../../harness/openapi.ts';
import { buildAppAlone } from './app-alone.ts';
import { stageStatus } from './status-stage.ts';

let app: FastifyInstance;
let url: string;
let browser: Browser;
let stage: { history: HistoryCache; view: () => StatusView };
/** The clock is set to noon, so that incidents of today are from today even at midnight. */
const stagedAt = new Date().setUTCHours(12, 0, 0, 0);
/** The time by which a test has moved the clocks of the front and of its page. */
let passedMs = 0;
const now = () => stagedAt + passedMs;
/** Time since the last report of the controller. */
let silentMs = 0;
beforeAll(async () => {
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  stage = stageStatus(stagedAt, { isBroken: true });
  app = await buildAppAlone({
    publicUrl: url,
    history: stage.history,
    view: () => {
      const { report, ...rest } = stage.view();
      const reportAgeMs = silentMs + 1500;
      const lastCheckedAt = new Date(now() - reportAgeMs).toISOString();
      const components = report?.components.map((component) => ({ ...component, lastCheckedAt })) ?? [];
      return { ...rest, report: report && { ...report, components }, reportAgeMs, now: now() };
    },
    now,
  });
  await app.listen({ host: '127.0.0.1', port });
  browser = await chromium.launch({ executablePath: inject('tools').headlessShell, args: ['--no-sandbox'] });
});
afterAll(async () => {
  await browser.close();
  await app.close();
});

const opened: Page[] = [];
afterEach(async () => {
  silentMs = 0;
  passedMs = 0;
  for (const page of opened.splice(0)) await page.context().close();
});

/** Opens a page, and collects its errors except for a status of 503, which browsers log. */
async function open(address: string, options: BrowserContextOptions = {}) {
  const context = await browser.newContext(options);
  await context.clock.install({ time: now() });
  const page = await context.newPage();
  opened.push(page);
  const problems: string[] = [];
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error' && !message.text().includes('503')) problems.push(message.text());
  });
  await page.goto(address);
  return { page, problems };
}

async function fastForward(page: Page, ms: number): Promise<void> {
  passedMs += ms;
  await page.clock.fastForward(ms);
}

const isAlive = (page: Page) => page.waitForSelector('.bars[role="slider"]');
const titleOf = (page: Page) => page.locator('h1').innerText();

describe('over HTTP', () => {
  test('the history matches the OpenAPI document, allows other origins, and has an ETag', async () => {
    const response = await app.inject('/status/history.json');
    const body: StatusHistory = response.json();
    const check = await AnswerCheck.load(`${url}/openapi.json`);
    const answer = { method: 'GET', path: '/status/history.json', status: 200, mediaType: 'application/json', body };
    expect(check.problems(answer)).toEqual([]);
    expect(body.components.map(({ name }) => name)).toEqual([
      'queue',
      'storage',
      'engine',
      'engine.eu-west',
      'engine.us-east',
    ]);
    expect(body.incidents.filter(({ endedAt }) => endedAt === null).map(({ component }) => component)).toEqual([
      'engine',
      'engine.us-east',
    ]);
    const { etag } = response.headers;
    expect(response.headers).toMatchObject({
      'access-control-allow-origin': '*',
      'cache-control': 'public, max-age=30, stale-if-error=86400',
      'content-type': 'application/json; charset=utf-8',
    });
    const again = await app.inject({ url: '/status/history.json', headers: { 'if-none-match': `W/${String(etag)}` } });
    expect([again.statusCode, again.body]).toEqual([304, '']);
  });

  test('a change is served at once', async () => {
    const etagOf = async () => (await app.inject('/status/history.json')).headers.etag;
    const before = await etagOf();
    const [first] = stage.history.histories;
    if (first === undefined) throw new Error('there is no history');
    stage.history.apply({ key: 'status.engine.us-west', value: { ...first, name: 'engine.us-west' } });
    expect(await etagOf()).not.toBe(before);
    stage.history.apply({ key: 'status.engine.us-west', value: null });
  });

  test('the feed is well-formed Atom', async () => {
    const { headers, body } = await app.inject('/status/feed.xml');
    expect(headers['content-type']).toBe('application/atom+xml; charset=utf-8');
    const { page } = await open('about:blank');
    const read = (xml: string) => {
      const document = new DOMParser().parseFromString(xml, 'application/xml');
      const all = (name: string, of: ParentNode = document) => [...of.querySelectorAll(name)];
      const [feed] = all('feed');
      return {
        error: document.querySelector('parsererror')?.textContent,
        namespace: feed?.namespaceURI,
        missing: ['id', 'title', 'updated', 'author > name', 'link[rel=self]'].filter(
          (name) => all(`feed > ${name}`).length === 0,
        ),
        entries: all('entry').map((entry) => ({
          missing: ['id', 'title', 'updated', 'content', 'link'].filter((name) => all(name, entry).length !== 1),
          // The feed is parsed as a feed reader would do it.
          html: new DOMParser().parseFromString(all('content', entry)[0]?.textContent ?? '', 'text/html').body
            .innerHTML,
        })),
      };
    };
    const feed = await page.evaluate(read, body);
    expect(feed).toMatchObject({ error: undefined, namespace: 'http://www.w3.org/2005/Atom', missing: [] });
    expect(feed.entries.length).toBe(10);
    expect(feed.entries.flatMap(({ missing }) => missing)).toEqual([]);
    expect(feed.entries.filter(({ html }) => /<(script|img)/.test(html))).toEqual([]);
    expect(feed.entries.some(({ html }) => html.includes('&lt;script&gt;'))).toBe(true);
  });
});

describe('the page', () => {
  const expectAccessible = async (colorScheme: 'dark' | 'light', width: number) => {
    const { page, problems } = await open(`${url}/status.html`, { colorScheme, viewport: { width, height: 800 } });
    await isAlive(page);
    for (const summary of await page.locator('summary').all()) await summary.click();
    const { violations } = await new AxeBuilder({ page }).analyze();
    expect(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
    expect(problems).toEqual([]);
  };

  test('has no axe violations, and no content is cut off, in dark colors on a phone', { tags: 'long' }, () =>
    expectAccessible('dark', 390),
  );

  test('has no axe violations, and no content is cut off, in light colors on a desktop', { tags: 'long' }, () =>
    expectAccessible('light', 1100),
  );

  test('shows current and past incidents, and days without data', async () => {
    const { page } = await open(`${url}/status.html`);
    await isAlive(page);
    expect(await titleOf(page)).toBe('Partial outage');
    expect(await page.title()).toBe('Partial outage – webcapture status');
    expect(await page.locator('#ongoing').innerText()).toMatch(
      new RegExp(`US East\\s*Partial outage\\s*Since .* UTC, for 24 min so far`),
    );
    expect(await page.locator('#past .incident').count()).toBe(9);
    expect(await page.locator('[id="days-engine.us-east"] .bars > i').count()).toBe(90);
    const classes = await page.locator('#days-queue .bars > i').evaluateAll((bars) => bars.map((bar) => bar.className));
    expect(classes.slice(0, 2)).toEqual(['unknown', 'unknown']);
    expect(new Set(classes)).toContain('major_outage q1');
  });

  test('escapes markup in messages, and removes direction overrides', async () => {
    const { page, problems } = await open(`${url}/status.html`);
    await isAlive(page);
    const storage = page.locator('.incident', { hasText: 'File storage' }).filter({ hasText: 'onerror' });
    expect(await storage.locator('.message bdi').innerText()).toMatch(
      /<script>document.title=2<\/script>.*txt.exe &amp; "quoted"/,
    );
    expect(await page.locator('main script, main img, [onerror]').count()).toBe(0);
    expect(await page.locator('main').innerText()).not.toMatch(/[\u202a-\u202e\u2066-\u2069]/);
    expect([await page.title(), problems]).toEqual(['Partial outage – webcapture status', []]);
  });

  test('its bars can be read with the keyboard', async () => {
    const { page } = await open(`${url}/status.html`);
    await isAlive(page);
    const bars = page.locator('[id="days-engine.us-east"] .bars');
    await bars.focus();
    await page.keyboard.press('Home');
    expect(await bars.getAttribute('aria-valuetext')).toMatch(/: no data$/);
    await page.keyboard.press('End');
    expect(await bars.getAttribute('aria-valuetext')).toMatch(/: partial outage 24 min, operational /);
    expect(await page.locator('#tip').isVisible()).toBe(true);
    await page.keyboard.press('Escape');
    expect(await page.locator('#tip').isVisible()).toBe(false);
  });

  test('a redraw keeps the focus', async () => {
    const { page } = await open(`${url}/status.html`);
    await isAlive(page);
    const bars = page.locator('[id="days-engine.us-east"] .bars');
    await bars.focus();
    await bars.evaluate((element) => element.classList.add('old'));
    const history = stage.history.histories.find(({ name }) => name === 'engine.us-east');
    if (history === undefined) throw new Error('there is no history');
    const key = 'status.engine.us-east';
    stage.history.apply({ key, value: { ...history, days: history.days.slice(1) } });
    await fastForward(page, 301_000);
    await page.waitForSelector('[id="days-engine.us-east"] .bars:not(.old)');
    expect(await bars.evaluate((element) => element === document.activeElement)).toBe(true);
    stage.history.apply({ key, value: history });
  });

  test('a tab that is hidden during a request sends no more requests until it is shown', async () => {
    const { page } = await open(`${url}/status.html`);
    await isAlive(page);
    const setHidden = (isHidden: boolean) =>
      page.evaluate((value) => {
        Object.defineProperty(document, 'hidden', { configurable: true, value });
        document.dispatchEvent(new Event('visibilitychange'));
      }, isHidden);
    let asked = 0;
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    await page.route('**/status', async (route) => {
      asked++;
      await held;
      await route.fallback();
    });
    const request = page.waitForRequest('**/status');
    await fastForward(page, 16_000);
    await request;
    await setHidden(true);
    const before = await page.locator('#checked').innerHTML();
    release();
    await page.waitForFunction((html) => document.getElementById('checked')?.innerHTML !== html, before);
    await fastForward(page, 600_000);
    expect(asked).toBe(1);
    const next = page.waitForRequest('**/status');
    await setHidden(false);
    await next;
  });

  test('without scripts shows the state at its time, and says so', async () => {
    const { page } = await open(`${url}/status.html`, { javaScriptEnabled: false });
    expect(await titleOf(page)).toBe('Partial outage');
    expect(await page.locator('.no-script').innerText()).toMatch(/is not updated: it shows the state of \d{4}-/);
    expect(await page.locator('[id="days-engine.eu-west"] .bars[role="img"]').getAttribute('aria-label')).toMatch(
      /^EU West, last 90 days: 99\.\d\d% uptime\. Problems on 4 days, last on /,
    );
  });

  test('follows the status, reports a missing answer, and recovers', async () => {
    const { page } = await open('about:blank');
    await page.goto(`${url}/status.html`);
    await isAlive(page);
    silentMs = 20 * 60_000;
    await fastForward(page, 16_000);
    await page.waitForFunction(() => document.querySelector('h1')?.textContent !== 'Partial outage');
    // Only the front is alive.
    expect(await titleOf(page)).toBe('The state is not fully known');
    expect(await page.locator('#head-api').innerText()).toMatch(/Operational/);
    expect(await page.locator('#head-queue').innerText()).toMatch(/No report since \d\d:\d\d UTC/);
    expect(await page.locator('#past .incident').count()).toBe(9);

    // A cache responds instead of the front, with an old response.
    const { body } = await app.inject('/status');
    const at = (JSON.parse(body) as OverallStatus).components?.[0]?.lastCheckedAt ?? '';
    await page.route('**/status', (route) => route.fulfill({ status: 503, contentType: 'application/json', body }));
    await fastForward(page, 16_000);
    await page.waitForSelector(`#checked time[datetime="${at}"]`);
    await fastForward(page, 61_000);
    await page.waitForFunction(() => document.querySelector('h1')?.textContent?.startsWith('No answer since'));
    await page.unroute('**/status');

    await page.route('**/status*', (route) => route.abort());
    const failed = page.waitForEvent('requestfailed');
    await fastForward(page, 16_000);
    await failed;
    expect(await page.locator('#head-api').innerText()).toMatch(/No answer since/);
    await page.unroute('**/status*');
    silentMs = 0;
    await fastForward(page, 301_000);
    await page.waitForFunction(() => document.querySelector('h1')?.textContent === 'Partial outage');
  });
});

describe('on other hosts', () => {
  /** Serves responses by path. An unknown path gets a custom page, as on many hosts. */
  async function host(answers: (path: string) => Promise<{ body: string; type: string } | null>) {
    const server = createServer((request, response) => {
      void answers(request.url ?? '').then((answer) => {
        response.writeHead(answer === null ? 404 : 200, { 'content-type': answer?.type ?? 'text/html' });
        response.end(answer?.body ?? '<h1>Not found</h1>');
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return {
      base: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      close: () => new Promise((resolve) => (server.close(resolve), server.closeAllConnections())),
    };
  }
  const answerOf = async (path: string) => {
    const { body, headers } = await app.inject(path);
    return { body, type: String(headers['content-type']) };
  };

  test('works under a path behind a proxy', async () => {
    const proxy = await host(async (path) => (path.startsWith('/a/b/') ? answerOf(path.slice(4)) : null));
    const { page, problems } = await open(`${proxy.base}/a/b/status.html`);
    await isAlive(page);
    expect(problems).toEqual([]);
    await proxy.close();
  });

  test('a stored copy of the page asks the service, and does not show an old state as the current one', async () => {
    const copies: Record<string, { body: string; type: string }> = {};
    for (const name of ['/status.html', '/status/page.js']) copies[name] = await answerOf(name);
    const old = copies['/status.html'];
    if (old === undefined) throw new Error('there is no page');
    const status = (await app.inject('/status')).json<OverallStatus>();
    const at = status.components?.[0]?.lastCheckedAt.slice(0, 10) ?? '';
    // A copy of the page from a year ago.
    copies['/status.html'] = { ...old, body: old.body.replaceAll(at, `2025${at.slice(4)}`) };
    const files = await host(async (path) => copies[path.split('?')[0] ?? ''] ?? null);

    const { page } = await open(`${files.base}/status.html`);
    await isAlive(page);
    expect(await page.locator('#checked time').getAttribute('datetime')).toMatch(new RegExp(`^${at}`));
    expect(
      await page
        .locator('footer a')
        .first()
        .evaluate(({ href }: HTMLAnchorElement) => href),
    ).toBe(`${url}/status`);

    await page.route(`${url}/**`, (route) => route.abort());
    await page.goto(`${files.base}/status.html`);
    await page.waitForFunction(() => document.querySelector('h1')?.textContent?.startsWith('No answer since'));
    expect(await titleOf(page)).toMatch(/^No answer since \d+ \w{3}, \d\d:\d\d UTC$/);
    await files.close();
  });
});
