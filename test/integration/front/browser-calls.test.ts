// @module-tag long
import { chromium, type Browser, type Page } from 'playwright';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { serve, type StaticSite } from '../../harness/static-site.ts';
import { presetKey, startTestFront, type TestFront } from './test-front.ts';

const signInCode = 'a-code-that-signs-in-once';

const startSite = () =>
  serve((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end('<!doctype html><title>App</title>');
  });

let app: StaticSite;
let stranger: StaticSite;
let front: TestFront;
let browser: Browser;
beforeAll(async () => {
  app = await startSite();
  stranger = await startSite();
  front = await startTestFront({ WEBCAPTURE_CORS_ORIGINS: app.url, WEBCAPTURE_SIGN_IN_CODE: signInCode });
  const { headlessShell, sandbox } = inject('tools');
  browser = await chromium.launch({ executablePath: headlessShell, chromiumSandbox: sandbox === 'on' });
});
afterAll(async () => {
  await browser.close();
  await front[Symbol.asyncDispose]();
  await stranger[Symbol.asyncDispose]();
  await app[Symbol.asyncDispose]();
});

/** Opens a window with a page of a site, in which the dashboard is signed in, too. */
async function openPage(site: StaticSite): Promise<{ readonly page: Page } & AsyncDisposable> {
  const context = await browser.newContext();
  const dashboard = await context.newPage();
  await dashboard.goto(`${front.url}/dashboard/`);
  await dashboard.evaluate((key) => {
    sessionStorage.setItem('webcapture.key', key);
    document.cookie = `webcapture.key=${key}; path=/`;
  }, presetKey);
  await dashboard.reload();
  await dashboard.getByText('Playground').first().waitFor();
  const page = await context.newPage();
  await page.goto(site.url);
  return { page, [Symbol.asyncDispose]: () => context.close() };
}

interface Call {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
  readonly credentials?: 'include';
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string>>;
}

/** Sends a request with the page's own `fetch`. Returns what the page can read, or null if the browser lets it read nothing. */
const fetchIn = (page: Page, path: string, init: Call = {}): Promise<Answer | null> =>
  page.evaluate(
    async ([url, options]) => {
      try {
        const response = await fetch(url, options);
        return {
          status: response.status,
          body: (await response.json()) as unknown,
          headers: Object.fromEntries(response.headers),
        };
      } catch {
        return null;
      }
    },
    [front.url + path, init] as const,
  );

const capture = (key = presetKey): Call => ({
  method: 'POST',
  headers: {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    'idempotency-key': crypto.randomUUID(),
  },
  body: JSON.stringify({ url: 'https://example.com/' }),
});

test('a page of a configured origin captures with a key, and reads the response, its headers and errors', async () => {
  await using opened = await openPage(app);
  const { page } = opened;
  const captured = await fetchIn(page, '/capture', capture());
  expect(captured).toMatchObject({ status: 200, body: { success: true, data: { status: 'completed' } } });
  expect(Object.keys(captured?.headers ?? {})).toEqual(
    expect.arrayContaining(['x-capture-uuid', 'x-ratelimit-remaining', 'x-request-id']),
  );
  const refused = await fetchIn(page, '/capture', capture('unknown'));
  expect(refused).toMatchObject({ status: 401, body: { error: { code: 'UNAUTHORIZED' } } });
  const headers = { authorization: `Bearer ${presetKey}` };
  expect(await fetchIn(page, '/status', { headers })).toMatchObject({ body: { status: expect.any(String) as string } });
});

test('such a page cannot use the session of the dashboard in the same browser', async () => {
  await using opened = await openPage(app);
  const { page } = opened;
  expect(await fetchIn(page, '/captures')).toMatchObject({ status: 401 });
  expect(await fetchIn(page, '/captures', { credentials: 'include' })).toBeNull();
  expect(
    await fetchIn(page, '/dashboard/sign-in-code', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ code: signInCode }),
    }),
  ).toBeNull();
});

test('a page of another origin reads nothing, and captures nothing', async () => {
  await using opened = await openPage(stranger);
  const { page } = opened;
  const before = front.renderer.jobs.length;
  expect(await fetchIn(page, '/capture', capture())).toBeNull();
  expect(await fetchIn(page, '/captures', { headers: { authorization: `Bearer ${presetKey}` } })).toBeNull();
  expect(front.renderer.jobs.length).toBe(before);
});
