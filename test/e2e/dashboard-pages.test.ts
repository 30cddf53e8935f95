import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import type { Locator, Page } from 'playwright';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { CaptureHistory } from '@webcapture/shared/api/capture-history.ts';
import type { CaptureState } from '@webcapture/shared/api/capture.ts';
import type { UsageHistoryView } from '@webcapture/shared/api/usage-history.ts';
import { expectAccessible, type OpenedDashboard, type OpenOptions, useDashboard } from '../harness/dashboard.ts';
import { until } from '../harness/until.ts';
import { useFleet } from '../harness/use.ts';
import { WebhookReceiver } from '../harness/webhook-receiver.ts';

const adminToken = 'the-admin-token-of-this-fleet';
const fleet = useFleet({ slots: 2, env: { WEBCAPTURE_ADMIN_TOKEN: adminToken } });
const openDashboard = useDashboard(fleet);

const hostileTitle = `<img src=x onerror=alert(1)> \u202Etxt.exe\u2066 ${'W'.repeat(10_000)}`;
let readings = 0;
let server: Server;
let site: string;
let receiver: WebhookReceiver;

beforeAll(async () => {
  receiver = await WebhookReceiver.start();
  server = createServer(({ url = '' }, response) => {
    response.setHeader('content-type', 'text/html; charset=utf-8');
    const title = url === '/hostile' ? hostileTitle.replaceAll('<', '&lt;') : `Page ${url.slice(1)}`;
    if (url === '/reading') readings++;
    response.end(`<title>${title}</title><h1>${url === '/reading' ? `Reading ${readings}` : 'Hello'}</h1>`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  site = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server.close();
  await receiver[Symbol.asyncDispose]();
});

/** Those of a test. */
let opened: OpenedDashboard[] = [];
afterEach(() => {
  const troubles = opened.flatMap((dashboard) => dashboard.troubles);
  opened = [];
  if (troubles.length > 0) throw new Error(`the dashboard had troubles:\n${troubles.join('\n')}`);
});

async function open(route: string, visitor: OpenOptions = { key: fleet().key }): Promise<Page> {
  const dashboard = await openDashboard({ ...visitor, route: `#${route}` });
  opened.push(dashboard);
  return dashboard.page;
}

/** Keeps what a page asks of such addresses from being answered until the function that it resolves to is called. */
async function hold(page: Page, addresses: string): Promise<() => void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  await page.route(addresses, async (route) => {
    await promise;
    await route.continue();
  });
  return resolve;
}

/** Any other call of the API, with the key of the fleet unless told. */
async function call<T>(method: string, path: string, body?: object, token = fleet().key): Promise<T> {
  const response = await fetch(fleet().url + path, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  const { data, error } = (await response.json()) as { data: T; error: { message: string } | null };
  if (error !== null) throw new Error(`${method} ${path}: ${error.message}`);
  return data;
}

async function ended(uuid: string): Promise<CaptureState> {
  return until(`${uuid} to end`, async () => {
    const state = await call<CaptureState>('GET', `/captures/${uuid}`);
    return state.status === 'queued' || state.status === 'rendering' ? undefined : state;
  });
}

const live = (page: Page) => page.getByText('Live', { exact: true }).waitFor();

/** A page with all that is on it, as axe reads it in light and dark and on a phone, and as wide as the window. */
async function looksRight(page: Page, isThere: () => Promise<void>): Promise<void> {
  const looks = [{ colorScheme: 'light' }, { colorScheme: 'dark' }, { colorScheme: 'light', width: 390 }] as const;
  for (const { colorScheme, ...look } of looks) {
    await page.emulateMedia({ colorScheme });
    if ('width' in look) await page.setViewportSize({ width: look.width, height: 844 });
    await isThere();
    await expect.poll(() => page.locator('.is-loading').count()).toBe(0);
    await expectAccessible(page);
    await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBe(0);
  }
}

describe('captures', () => {
  test('the list shows what there is, finds it, and leads to it by keyboard', async () => {
    await fleet().api.captured({ url: `${site}/hostile` });
    await fleet().api.captured({ url: `${site}/orchard` });
    const page = await open('/captures');
    const rows = page.getByRole('list', { name: 'Captures, newest first' }).getByRole('listitem');
    await rows.filter({ hasText: 'Page orchard' }).waitFor();
    const hostile = rows.filter({ hasText: '<img src=x onerror=alert(1)> \uFFFDtxt.exe\uFFFD WWW' });
    await hostile.waitFor();
    expect((await hostile.boundingBox())?.height).toBeLessThan(120);
    const drawn = (page: Page) =>
      page.evaluate(() => {
        const images = [...document.querySelectorAll<HTMLImageElement>('.thumbnail img')];
        return images.filter(({ naturalWidth }) => naturalWidth > 0).length;
      });
    await until('the thumbnails', async () => (await drawn(page)) >= 2);
    await looksRight(page, () => rows.filter({ hasText: 'Page orchard' }).waitFor());

    await page.getByRole('searchbox').fill('ORCHARD');
    await hostile.waitFor({ state: 'detached' });
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Page orchard' }).waitFor();
    await page.goBack();
    await rows.first().waitFor();
    expect(await page.getByRole('searchbox').inputValue()).toBe('ORCHARD');
  });

  test('a picture that arrives late moves nothing: a click goes where it was aimed', async () => {
    const { uuid } = await fleet().api.captured({ url: `${site}/late`, viewport: { width: 400, height: 1500 } });
    const page = await open('/usage', { key: fleet().key, isPhone: true });
    const release = await hold(page, '**/*.png*');
    await page.goto(`${fleet().url}/dashboard/#/captures/${uuid}`);
    await page.getByText('Loading the picture…').waitFor();
    const below = ['Facts', 'Refreshes', 'Webhook deliveries'].map((name) => page.getByRole('heading', { name }));
    const places = () => Promise.all(below.map(async (heading) => (await heading.boundingBox())?.y));
    for (const heading of below) await heading.waitFor();
    await live(page);
    const before = await places();
    release();
    const picture = page.getByRole('img', { name: 'Picture of Page late' });
    await until('the picture', () => picture.evaluate((image) => (image as HTMLImageElement).naturalWidth > 0));
    expect(await places()).toEqual(before);
    const widthOf = async (part: string) => (await page.locator(part).boundingBox())?.width;
    expect(await widthOf('.viewer-frame')).toBe(await widthOf('.viewer-bar'));
  });
});

test.each([
  { route: '/operator', held: '**/admin/{overview,events}*', label: 'Loading the fleet…', below: 'Accounts' },
  { route: '/usage', held: '**/usage', label: 'Loading usage…', below: 'History' },
])('what stands below what is still loading at $route is shown with it', async ({ route, held, label, below }) => {
  const page = await open('/keys', { key: fleet().key, adminToken });
  const release = await hold(page, held);
  await page.goto(`${fleet().url}/dashboard/#${route}`);
  await page.getByText(label).waitFor();
  const heading = page.getByText(below, { exact: true }).last();
  await heading.waitFor({ state: 'attached' });
  expect(await heading.isVisible()).toBe(false);
  release();
  await heading.waitFor();
});

describe('captures that change', () => {
  test('a background capture is followed to its end, also after the stream was cut', async () => {
    const page = await open('/captures');
    await live(page);
    const first = await call<CaptureState>('POST', '/capture', { url: `${site}/followed`, background: true });
    const row = page.locator(`a[href$="${first.uuid}"]`);
    await row.getByText('completed').waitFor();

    const front = fleet().fronts[0];
    await front?.kill();
    await page.getByText('Connecting…').waitFor();
    await page.getByText('The service does not answer.').waitFor();
    expect(await row.isVisible()).toBe(true);
    await front?.start();
    await live(page);
    await page.getByText('The service does not answer.').waitFor({ state: 'detached' });
    const second = await call<CaptureState>('POST', '/capture', { url: `${site}/after`, background: true });
    await page.locator(`a[href$="${second.uuid}"]`).getByText('completed').waitFor();
  });

  test('a refresh is shown beside what it replaced, and a deleted capture says so', async () => {
    const { uuid } = await fleet().api.captured({
      url: `${site}/reading`,
      viewport: { width: 400, height: 200 },
      persistence: { enabled: true },
    });
    const page = await open(`/captures/${uuid}`);
    await page.getByRole('img', { name: 'Picture of Page reading' }).waitFor();
    await live(page);
    await page.getByRole('button', { name: 'Refresh' }).click();
    await page.getByRole('heading', { name: 'Before and after the refresh' }).waitFor();
    const words = page.getByText(/% changed: \d+ pixels\./);
    await words.waitFor();
    await page.getByRole('img', { name: /^Where the pictures differ: 0\.\d% of the area/ }).waitFor();
    expect(await page.getByRole('img', { name: /The page (before|after) the refresh/ }).count()).toBe(2);
    await expectAccessible(page);

    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    expect((await ended(uuid)).status).toBe('completed');
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('It was deleted.').waitFor();
    expect((await ended(uuid)).status).toBe('deleted');
  });

  test('a hostile title stays text, and all of it can be read', async () => {
    const { uuid, report } = await fleet().api.captured({ url: `${site}/hostile` });
    const page = await open(`/captures/${uuid}`);
    const isThere = () => page.getByRole('heading', { name: '<img src=x onerror=alert(1)> \uFFFDtxt' }).waitFor();
    await isThere();
    expect(await page.title()).not.toMatch(/\u202E/);
    const title = page.locator('.finding').filter({ hasText: 'Title' });
    await title.getByRole('button', { name: 'Show all' }).click();
    const shown = async () => (await title.innerText()).match(/W/g)?.length;
    await expect.poll(shown).toBe(report.title.match(/W/g)?.length);
    expect(await page.locator('img[src="x"]').count()).toBe(0);
    await looksRight(page, isThere);
  });

  test('what was extracted is text: its beginning here, all of it to download', async () => {
    const words = `<b>bold</b> \u202Egnp.exe ${'W'.repeat(30_000)}`;
    const html = `<title>Parts</title><p>${words.replaceAll('<', '&lt;')}</p><a href="https://example.com/a">\u202Ether</a>`;
    const { uuid } = await fleet().api.captured({ html, extract: ['text', 'links', 'metadata'] });
    const page = await open(`/captures/${uuid}`);
    await page.getByRole('button', { name: '1:1' }).click();
    await page.getByText('100 %').waitFor();

    for (const part of ['Text', 'Links', 'Metadata']) await page.locator('summary', { hasText: part }).click();
    const shown = await page.getByRole('region', { name: 'Text' }).innerText();
    expect([shown.slice(0, 21), shown.length]).toEqual(['<b>bold</b> \uFFFDgnp.exe ', 20_001]);
    const links = page.getByRole('region', { name: 'Links' });
    expect(await links.innerText()).toBe('https://example.com/a\n    \uFFFDther');
    expect(await links.locator('a').count()).toBe(0);
    await expectAccessible(page);

    const downloading = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download Text' }).click();
    const download = await downloading;
    expect(download.suggestedFilename()).toBe(`${uuid}-text.txt`);
    expect(await readFile(await download.path(), 'utf8')).toContain('W'.repeat(30_000));
  });

  test('ten thousand are scrolled through to the last, a few dozen at a time', async () => {
    const { uuid, ...template } = await fleet().api.captured({ url: `${site}/many` });
    const ids = Array.from({ length: 10_000 }, (_, index) => `${uuid.slice(0, -5)}${String(99_999 - index)}`);
    const page = await open('/usage');
    await page.route('**/captures?*', async (route) => {
      const cursor = new URL(route.request().url()).searchParams.get('cursor');
      const start = cursor === null ? 0 : ids.indexOf(cursor) + 1;
      const items = ids.slice(start, start + 100).map((id) => ({ ...template, uuid: id }));
      const data = { items, nextCursor: start + 100 < ids.length ? items.at(-1)?.uuid : null };
      await route.fulfill({ json: { success: true, error: null, data } });
    });
    await page.route('**/thumbnail?*', (route) => route.fulfill({ status: 404, json: {} }));
    await page.getByRole('link', { name: 'Captures', exact: true }).click();
    await page.locator('.capture-row').first().waitFor();
    const most = await page.evaluate(async () => {
      let mostRows = 0;
      while (document.querySelector('.list-end')?.textContent !== 'These are all 10,000 captures.') {
        scrollTo(0, document.body.scrollHeight);
        await new Promise((resolve) => requestAnimationFrame(resolve));
        mostRows = Math.max(mostRows, document.querySelectorAll('.capture-row').length);
      }
      return mostRows;
    });
    expect(most).toBeLessThan(60);
    expect(await page.locator('.capture-row').count()).toBeLessThan(60);
    await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
    await page.locator(`a[href$="${ids.at(-1)}"]`).click();
    await page.getByText('This account has no capture of that uuid.').waitFor();
    await page.goBack();
    await page.locator(`a[href$="${ids.at(-1)}"]`).waitFor();
  });
});

describe('webhooks', () => {
  test('the secret is hidden until asked for, and a test event arrives', async () => {
    const page = await open('/webhooks');
    const secret = await call<{ secret: string }>('GET', '/webhooks/secret');
    await page.getByText('It is hidden until you ask for it.').waitFor();
    expect(await page.content()).not.toContain(secret.secret);
    await page.getByRole('button', { name: 'Show' }).click();
    await page.getByText(secret.secret).waitFor();
    await page.getByLabel('Address of the receiver').fill(receiver.url);
    await page.getByRole('button', { name: 'Send a test event' }).click();
    const row = page.getByRole('row').filter({ hasText: 'webhook.test' });
    await row.getByText('delivered').waitFor();
    expect(receiver.notices.map(({ type }) => type)).toContain('webhook.test');
    await looksRight(page, () => page.getByText('webhook.test').first().waitFor());
  });

  test('the deliveries of a capture are on its page, and can be sent again', async () => {
    const body = { url: `${site}/told`, background: true, webhook: { url: receiver.url } };
    const { uuid } = await call<CaptureState>('POST', '/capture', body);
    await until('the event', () => receiver.about(uuid).length === 1);
    // Both are written after the receiver has answered; the page reads them when it is opened.
    await until('its delivery to be known', async () => {
      const { deliveries } = await call<CaptureHistory>('GET', `/captures/${uuid}/history`);
      const { webhook } = await call<{ webhook: { state: string } }>('GET', `/captures/${uuid}`);
      return deliveries.length === 1 && webhook.state === 'delivered';
    });
    const page = await open(`/captures/${uuid}`);
    const deliveries = page.getByRole('region', { name: 'Webhook deliveries' }).getByRole('row');
    await deliveries.filter({ hasText: 'capture.completed' }).getByText('delivered').waitFor();
    await page.getByRole('button', { name: 'Redeliver' }).click();
    expect(await page.locator('.toast').innerText()).toContain('The latest event of the capture is being sent again.');
    await expect.poll(() => receiver.about(uuid).length).toBe(2);
    await page.getByRole('button', { name: 'Refresh' }).click();
    await page.getByRole('region', { name: 'Refreshes' }).getByText('completed').waitFor();
    await expectAccessible(page);
  });
});

describe('keys', () => {
  test('one is made, shown once, used, rotated and revoked', async () => {
    const page = await open('/keys');
    await page.getByRole('button', { name: 'New key' }).click();
    await page.getByRole('dialog').getByLabel('Name').fill('Build <b>server</b>');
    await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
    const shown = async () => (await page.getByRole('dialog').locator('.secret-value code').innerText()).trim();
    const key = await shown();
    expect(key).toMatch(/^wc_live_/);
    // The browser lets a page refuse only the first one.
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    expect(await shown()).toBe(key);
    await expectAccessible(page);
    await page.getByRole('button', { name: 'I have stored it' }).click();
    await call('GET', '/usage', undefined, key);

    const row = page.getByRole('row').filter({ hasText: 'Build <b>server</b>' });
    await row.getByRole('button', { name: /^Rotate/ }).click();
    await page.getByRole('dialog').getByLabel('The old key').selectOption('0');
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click();
    await page.getByRole('heading', { name: 'The new key' }).waitFor();
    const rotated = await shown();
    await page.getByRole('button', { name: 'I have stored it' }).click();
    await expect(call('GET', '/usage', undefined, key)).rejects.toThrow(/revoked|expired/);

    // The list shows the old key as it was until it has been loaded again.
    await row.filter({ hasText: /revoked|expired/ }).waitFor();
    await row
      .filter({ hasText: 'active' })
      .getByRole('button', { name: /^Revoke/ })
      .click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await row.filter({ hasText: 'active' }).waitFor({ state: 'detached' });
    await expect(call('GET', '/usage', undefined, rotated)).rejects.toThrow(/revoked/);
    await looksRight(page, () => page.getByRole('row').nth(1).waitFor());
  });

  test('a key without the scope manage is told so, and one that is revoked is signed out with the reason', async () => {
    const { id, key } = await call<{ id: string; key: string }>('POST', '/keys', { name: 'Reader', scopes: ['read'] });
    const page = await open('/keys', { key });
    await page.getByText('Your key may not manage keys').waitFor();
    await page.getByRole('link', { name: 'Captures', exact: true }).click();
    await live(page);
    await call('DELETE', `/keys/${id}`);
    await page.getByText(/The API key was revoked/).waitFor();
    expect(await page.evaluate(() => sessionStorage.getItem('webcapture.key'))).toBe(null);
  });
});

test('usage shows tokens by day and key, and the same as a table', async () => {
  await fleet().api.captured({ url: `${site}/counted` });
  await fleet().api.refused({ url: 'http://no-such-host.invalid/' });
  type History = Pick<UsageHistoryView, 'totals' | 'keys'>;
  await until('the front to have counted both', async () => {
    const { totals, keys } = await call<History>('GET', '/usage/history?days=7');
    return totals.completed > 0 && totals.failed > 0 && keys.length > 0;
  });
  const page = await open('/usage');
  const isThere = () => page.getByRole('img', { name: 'Tokens by day' }).locator('canvas').waitFor();
  await isThere();
  await page
    .getByText(/of 1,000,000|of the quota/)
    .first()
    .waitFor();
  await page.getByText('The same as a table').click();
  // At midnight (UTC) the two captures are of different days.
  const used = (column: number) =>
    page
      .getByRole('table', { name: 'Usage by day' })
      .locator(`td:nth-child(${column})`)
      .filter({ hasText: /^[1-9]/ })
      .first()
      .waitFor();
  await used(2);
  await used(4);
  await page.getByRole('region', { name: 'Usage by key' }).getByRole('row').nth(1).waitFor();
  await looksRight(page, isThere);
});

test('charts that cannot be loaded say so: a new version has other files', async () => {
  const page = await open('/captures');
  await live(page);
  await page.route(/assets\/.*uplot.*\.js/i, (route) => route.fulfill({ status: 404 }));
  await page.getByRole('link', { name: 'Usage', exact: true }).click();
  await page.getByText('The chart could not be loaded. Reload the page.').first().waitFor();
});

describe('operator', () => {
  test('the fleet stays shown when its events begin', async () => {
    const page = await open('/keys', { key: fleet().key, adminToken });
    const release = await hold(page, '**/admin/events*');
    await page.goto(`${fleet().url}/dashboard/#/operator`);
    await page.getByText('of 2 slots busy').waitFor();
    await page.evaluate(() => {
      const look = () => {
        if (!document.body.innerText.includes('of 2 slots busy')) document.body.classList.add('was-gone');
      };
      new MutationObserver(look).observe(document.body, { subtree: true, childList: true });
    });
    release();
    await live(page);
    expect(await page.locator('body.was-gone').count()).toBe(0);
  });

  test('sees the fleet live, and makes, limits and suspends accounts', async () => {
    await fleet().api.refused({ url: 'http://no-such-host.invalid/' });
    const page = await open('/operator', { adminToken });
    await page.getByText('of 2 slots busy').waitFor();
    await live(page);
    await page.getByRole('button', { name: 'New account' }).click();
    await page.getByRole('dialog').getByLabel('Name').fill('Example <i>Ltd</i>');
    await page.getByRole('dialog').getByLabel('Tokens a month').fill('5');
    await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { name: 'New key for the account' }).waitFor();
    await page.getByRole('dialog').getByLabel('Name').fill('First');
    await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
    const key = (await page.getByRole('dialog').locator('.secret-value code').innerText()).trim();
    await page.getByRole('button', { name: 'I have stored it' }).click();
    expect(await call('GET', '/usage', undefined, key)).toMatchObject({ tokenQuota: 5 });

    const row = page.getByRole('row').filter({ hasText: 'Example <i>Ltd</i>' });
    await row.getByRole('button', { name: /^Change/ }).click();
    await page.getByRole('dialog').getByLabel('Tokens a month').fill('7');
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await row.getByText('7', { exact: true }).waitFor();
    await row.getByRole('button', { name: /^Suspend/ }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Suspend' }).click();
    await row.getByText('suspended').waitFor();
    await until('the key to be refused', () =>
      call('GET', '/usage', undefined, key).then(
        () => false,
        () => true,
      ),
    );
    await page.getByRole('region', { name: 'Failed captures' }).getByText('NAVIGATION_FAILED').first().waitFor();
    await looksRight(page, () => page.getByText('of 2 slots busy').waitFor());
  });
});

/** Last, since it hurts the fleet. */
test('without NATS every page says so, keeps what it has, and recovers by itself', async () => {
  const { uuid } = await fleet().api.captured({ url: `${site}/kept` });
  await fleet().operational();
  const key = { key: fleet().key };
  const isLive = (page: Page) => page.getByText('Live', { exact: true });
  const pages: { name: string; visitor: OpenOptions; parts: (page: Page) => Locator[] }[] = [
    { name: '/playground', visitor: key, parts: (page) => [page.getByLabel('Address', { exact: true })] },
    { name: '/captures', visitor: key, parts: (page) => [isLive(page), page.getByText('Page kept').first()] },
    { name: `/captures/${uuid}`, visitor: key, parts: (page) => [isLive(page), page.locator('.viewer img')] },
    {
      name: '/usage',
      visitor: key,
      parts: (page) => [
        page.getByText('Tokens this month'),
        page.getByRole('img', { name: 'Tokens by day' }).locator('canvas'),
      ],
    },
    { name: '/keys', visitor: key, parts: (page) => [page.getByRole('row').nth(1)] },
    {
      name: '/webhooks',
      visitor: key,
      parts: (page) => [page.getByRole('region', { name: 'Recent deliveries' }).locator('table, p').first()],
    },
    {
      name: '/operator',
      visitor: { adminToken },
      parts: (page) => [
        isLive(page),
        page.getByText('of 2 slots busy'),
        page.getByRole('table', { name: 'Accounts' }),
        page.getByText('operational', { exact: true }).first(),
      ],
    },
  ];
  const opened = await Promise.all(
    pages.map(async ({ name, visitor, parts }) => ({ name, page: await open(name, visitor), parts })),
  );
  const all = async (what: string, check: (page: (typeof opened)[number]) => Promise<unknown>) => {
    const told = await Promise.allSettled(opened.map(check));
    const missing = told.flatMap((one, index) =>
      one.status === 'rejected' ? [`${opened[index]?.name}: ${inspect(one.reason)}`] : [],
    );
    expect(missing, what).toEqual([]);
  };
  const outage = (page: Page) => page.getByText(/^There is an outage of .*the queue/);
  const isThere = ({ page, parts }: (typeof opened)[number]) =>
    Promise.all(parts(page).map((part) => part.waitFor({ timeout: 60_000 })));
  const isWell = async (one: (typeof opened)[number]) => {
    await isThere(one);
    await outage(one.page).waitFor({ state: 'detached', timeout: 60_000 });
    await expect.poll(() => one.page.getByRole('alert').allInnerTexts(), { timeout: 60_000 }).toEqual([]);
  };
  await all('shown before', isWell);

  await fleet().nats.kill();
  const accounts = call('GET', '/admin/accounts', undefined, adminToken);
  await expect(accounts).rejects.toThrow('again in a few seconds');
  await all('outage said', ({ page }) => outage(page).waitFor({ timeout: 60_000 }));
  await all('kept', async ({ page, parts }) => {
    const stays = parts(page).filter((part) => !/Live|slots|operational/.test(String(part)));
    for (const part of stays) expect(await part.isVisible()).toBe(true);
  });
  await fleet().nats.start();
  await all('recovered', isWell);

  // As one finds them who comes meanwhile.
  await fleet().nats.kill();
  await all('outage said to a newcomer', async ({ page, name }) => {
    await page.reload();
    await outage(page).waitFor({ timeout: 60_000 });
    if (name !== '/playground') await page.getByRole('alert').first().waitFor({ timeout: 60_000 });
  });
  const playground = opened[0]?.page;
  await playground?.getByLabel('Address', { exact: true }).fill(`${site}/later`);
  await playground?.keyboard.press('Control+Enter');
  await playground?.getByRole('alert').waitFor();
  await fleet().nats.start();
  // Until the renderers are back, it would fail again.
  await fleet().operational();
  await playground?.getByRole('button', { name: 'Try again' }).click();
  await all('recovered for a newcomer', isWell);
  await playground?.getByRole('img', { name: 'Capture of Page later' }).waitFor();
});
