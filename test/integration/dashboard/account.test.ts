import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import type { UsageHistoryView } from '@webcapture/shared/api/usage-history.ts';
import {
  expectAccessible,
  expectAllLooks,
  holdRequests,
  type OpenOptions,
  untilLive,
  useDashboard,
} from '../../harness/dashboard.ts';
import { until } from '../../harness/until.ts';
import { adminToken, signInCode, site, useService } from './service.ts';

const service = useService();
const openDashboard = useDashboard(service);

const open = (route: string, visitor: OpenOptions = { key: service().key }) =>
  openDashboard({ ...visitor, route: `#${route}` });

test('a link with a code signs in once, and the address does not keep the code', async () => {
  const link = `#code=${signInCode}`;
  const page = await openDashboard({ route: link });
  await page.getByRole('heading', { level: 1, name: 'Playground' }).waitFor();
  expect(page.url()).toBe(`${service().url}/dashboard/`);
  expect(await page.evaluate(() => history.length)).toBe(2);
  const second = await openDashboard({ route: link });
  await second.getByText(/This sign-in link has been used/).waitFor();
  expect(second.url()).toBe(`${service().url}/dashboard/`);
});

test.each([
  { route: '/operator', held: '**/admin/{overview,events}*', label: 'Loading the fleet…', below: 'Accounts' },
  { route: '/usage', held: '**/usage', label: 'Loading usage…', below: 'History' },
])('content below a loading section at $route is shown together with it', async ({ route, held, label, below }) => {
  const page = await open('/keys', { key: service().key, adminToken });
  const release = await holdRequests(page, held);
  await page.goto(`${service().url}/dashboard/#${route}`);
  await page.getByText(label).waitFor();
  const heading = page.getByText(below, { exact: true }).last();
  await heading.waitFor({ state: 'attached' });
  expect(await heading.isVisible()).toBe(false);
  release();
  await heading.waitFor();
});

describe('keys', () => {
  test('a key is created, shown once, used, rotated and revoked', async () => {
    const { api } = service();
    const page = await open('/keys');
    await page.getByRole('button', { name: 'Create key' }).click();
    await page.getByRole('dialog').getByLabel('Name').fill('Build <b>server</b>');
    await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
    const shown = async () => (await page.getByRole('dialog').locator('.secret-value code').innerText()).trim();
    const key = await shown();
    expect(key).toMatch(/^wc_live_/);
    // The page can prevent only the first Escape from closing the dialog.
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    expect(await shown()).toBe(key);
    await expectAccessible(page);
    await page.getByRole('button', { name: 'I have stored it' }).click();
    await api.call('GET', '/usage', { key });

    const row = page.getByRole('row').filter({ hasText: 'Build <b>server</b>' });
    await row.getByRole('button', { name: /^Rotate/ }).click();
    await page.getByRole('dialog').getByLabel('The old key').selectOption('0');
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click();
    await page.getByRole('heading', { name: 'The new key' }).waitFor();
    const rotated = await shown();
    await page.getByRole('button', { name: 'I have stored it' }).click();
    await expect(api.call('GET', '/usage', { key })).rejects.toThrow(/revoked|expired/);

    // The list shows the previous state of the key until it is loaded again.
    await row.filter({ hasText: /revoked|expired/ }).waitFor();
    await row
      .filter({ hasText: 'active' })
      .getByRole('button', { name: /^Revoke/ })
      .click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await row.filter({ hasText: 'active' }).waitFor({ state: 'detached' });
    await expect(api.call('GET', '/usage', { key: rotated })).rejects.toThrow(/revoked/);
    await expectAllLooks(page, () => page.getByRole('row').nth(1).waitFor());
  });

  test('a key sees only the pages of its scopes, other pages name the scope, a revoked key is signed out', async () => {
    const { api } = service();
    const { id, key } = await api.call<{ id: string; key: string }>('POST', '/keys', {
      body: { name: 'Reader', scopes: ['read'] },
    });
    const page = await open('/keys', { key });
    await page.getByText('Your key does not have the scope manage').waitFor();
    expect(await page.getByRole('button', { name: 'Try again' }).count()).toBe(0);
    const links = page.getByRole('navigation', { name: 'Pages' }).getByRole('link');
    expect(await links.allInnerTexts()).toEqual(['Captures', 'Sessions', 'Usage']);
    await expectAccessible(page);
    // The first page that is shown is one that the key may use.
    await page.goto(`${service().url}/dashboard/#/`);
    await page.getByRole('heading', { level: 1, name: 'Captures' }).waitFor();
    await untilLive(page);
    const { uuid } = await api.captured({ url: `${site}/read-only` });
    await page.locator(`a[href$="${uuid}"]`).click();
    await page.getByRole('link', { name: 'Open file' }).waitFor();
    expect(await page.getByText(/^(Refresh|Delete|Open in playground)$/).count()).toBe(0);
    await page.reload();
    await page.getByRole('link', { name: 'Open file' }).waitFor();
    expect(await links.allInnerTexts()).toEqual(['Captures', 'Sessions', 'Usage']);
    await api.call('DELETE', `/keys/${id}`);
    await page.getByText(/The API key was revoked/).waitFor();
    expect(await page.evaluate(() => sessionStorage.getItem('webcapture.key'))).toBe(null);
  });
});

describe('forms and messages', () => {
  test('errors of a form are shown at their field, until it changes', async () => {
    const page = await open('/webhooks');
    const address = page.getByLabel('Address of the receiver');
    await address.fill('http://10.0.0.1/hook');
    await page.getByRole('button', { name: 'Send a test event' }).click();
    await page
      .getByRole('alert')
      .getByText(/^The address is refused/)
      .waitFor();
    expect(await address.getAttribute('aria-invalid')).toBe('true');
    expect(await address.evaluate((element) => element === document.activeElement)).toBe(true);
    await expectAccessible(page);
    await address.fill('https://example.com/hook');
    expect(await page.getByRole('alert').count()).toBe(0);

    await page.getByRole('link', { name: 'Keys', exact: true }).click();
    await page.getByRole('button', { name: 'Create key' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('Nothing');
    for (const scope of ['capture', 'read']) await dialog.locator(`[value=${scope}]`).uncheck();
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.getByRole('group', { name: 'Scopes' }).getByRole('alert').waitFor();

    // Only the message of the changed field disappears, and the focus stays there.
    const name = dialog.getByLabel('Name');
    await name.fill('\u007F');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await expect.poll(() => dialog.getByRole('alert').count()).toBe(2);
    await name.fill('Nothing');
    await expect.poll(() => dialog.getByRole('alert').count()).toBe(1);
    expect(await name.evaluate((element) => element === document.activeElement)).toBe(true);
  });

  test('messages end when the user leaves their page', async () => {
    const page = await open('/webhooks');
    // Without https, the browser has no clipboard. The message of an error does not disappear by itself.
    await page.evaluate(() => Object.defineProperty(navigator, 'clipboard', { value: undefined }));
    await page.getByRole('button', { name: 'Show' }).click();
    await page.getByRole('button', { name: 'Copy secret' }).click();
    const message = page.getByText('The browser does not allow copying here.');
    await message.waitFor();
    await page.getByRole('link', { name: 'Keys', exact: true }).click();
    await message.waitFor({ state: 'detached' });
  });

  test('a table on a phone has a shadow at the side to which it scrolls', async () => {
    const page = await open('/keys', { key: service().key, isPhone: true });
    const table = page.getByRole('region', { name: 'API keys' });
    const row = page.getByRole('row').nth(1);
    await row.waitFor();
    const brightness = async (side: 'left' | 'right') => {
      const frame = await table.boundingBox();
      const line = await row.boundingBox();
      if (frame === null || line === null) throw new Error('the table is not shown');
      const x = side === 'left' ? frame.x + 2 : frame.x + frame.width - 3;
      // The padding of a row has no text.
      const picture = await page.screenshot({ clip: { x, y: line.y + 3, width: 1, height: 1 } });
      const { data } = await sharp(picture).removeAlpha().raw().toBuffer({ resolveWithObject: true });
      return data[0] ?? 0;
    };
    expect(await brightness('right')).toBeLessThan((await brightness('left')) - 10);
    await table.evaluate((element) => (element.scrollLeft = element.scrollWidth));
    await expect.poll(async () => (await brightness('right')) - (await brightness('left'))).toBeGreaterThan(10);
  });
});

test('usage shows tokens by day and key, and the same numbers in a table', { tags: 'long' }, async () => {
  const { api } = service();
  await api.captured({ url: `${site}/counted` });
  await api.refused({ url: `${site}/unreachable` });
  type History = Pick<UsageHistoryView, 'totals' | 'keys'>;
  await until('the front to have counted both', async () => {
    const { totals, keys } = await api.call<History>('GET', '/usage/history?days=7');
    return totals.completed > 0 && totals.failed > 0 && keys.length > 0;
  });
  const page = await open('/usage');
  const isThere = () => page.getByRole('img', { name: 'Tokens by day' }).locator('canvas').waitFor();
  await isThere();
  await page
    .getByText(/of 1,000,000|of the quota/)
    .first()
    .waitFor();
  await page.getByText('Show as table').click();
  // Around midnight (UTC) the two captures may be on different days.
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
  await expectAllLooks(page, isThere);
});

test('ticks of charts are distinct and whole, and legends have the values of the latest day', async () => {
  const { api } = service();
  await api.captured({ url: `${site}/charted` });
  const page = await open('/captures');
  await page.evaluate(() => {
    const texts = new Map<HTMLCanvasElement, string[]>();
    const wrap = (name: string, before: (canvas: HTMLCanvasElement, first: unknown) => void) => {
      const plain = Reflect.get(CanvasRenderingContext2D.prototype, name) as (...args: unknown[]) => unknown;
      Reflect.set(
        CanvasRenderingContext2D.prototype,
        name,
        function (this: CanvasRenderingContext2D, ...args: unknown[]) {
          before(this.canvas, args[0]);
          return plain.apply(this, args);
        },
      );
    };
    wrap('fillText', (canvas, text) => texts.set(canvas, [...(texts.get(canvas) ?? []), String(text)]));
    wrap('clearRect', (canvas) => texts.delete(canvas));
    Reflect.set(window, 'textsOf', (canvas: HTMLCanvasElement) => texts.get(canvas) ?? []);
  });
  await page.getByRole('link', { name: 'Usage', exact: true }).click();
  await page.getByLabel('Period').selectOption('7 days');
  const ticksOf = async (name: string): Promise<string[]> =>
    page
      .getByRole('img', { name })
      .locator('canvas')
      .evaluate((canvas) => (Reflect.get(window, 'textsOf') as (canvas: Element) => string[])(canvas));
  for (const [name, pattern] of [
    ['Tokens by day', /^\d+$|^[A-Z][a-z]{2} \d+$/],
    ['Captures by outcome', /^\d+$|^[A-Z][a-z]{2} \d+$/],
    ['Latency by day', /^[\d.]+ m?s$|^[A-Z][a-z]{2} \d+$/],
  ] as const) {
    const ticks = await until(`ticks of ${name}`, async () => {
      const found = await ticksOf(name);
      return found.length > 3 ? found : null;
    });
    expect(new Set(ticks).size, ticks.join()).toBe(ticks.length);
    expect(ticks.filter((tick) => !pattern.test(tick))).toEqual([]);
    const legend = await page.getByRole('img', { name }).locator('.u-value').allInnerTexts();
    expect(legend.length).toBeGreaterThan(1);
    expect(legend.filter((text) => !/^\d|^[A-Z][a-z]{2} \d+$/.test(text))).toEqual([]);
  }
});

test('charts of an account without captures are a text', async () => {
  const admin = { key: adminToken };
  const { id } = await service().api.call<{ id: string }>('POST', '/admin/accounts', {
    ...admin,
    body: { name: 'New' },
  });
  const { key } = await service().api.call<{ key: string }>('POST', '/admin/keys', {
    ...admin,
    body: { accountId: id, name: 'New' },
  });
  const page = await open('/usage', { key });
  await expect.poll(() => page.getByText('No data in this period.').count()).toBe(3);
});

test('charts that cannot be loaded show an error, as after an update with other files', async () => {
  const page = await open('/captures');
  await untilLive(page);
  await page.route(/assets\/.*uplot.*\.js/i, (route) => route.fulfill({ status: 404 }));
  await page.getByRole('link', { name: 'Usage', exact: true }).click();
  await page.getByText('The chart could not be loaded. Reload the page.').first().waitFor();
});

describe('operator', () => {
  test('captures of removed regions are shown while there are any', { tags: 'long' }, async () => {
    const { report } = service();
    const page = await open('/operator', { adminToken });
    await page.getByText('of 2 slots busy').waitFor();
    const notice = page.getByText(/no longer part of the installation/);
    expect(await notice.count()).toBe(0);
    await report({ retired: { 'eu-west': 3 } });
    await notice.waitFor();
    expect(await notice.innerText()).toMatch(/^3 captures wait in .*: eu-west \(3\)\.$/);
    await report({ retired: {} });
    await notice.waitFor({ state: 'detached' });
  });

  test('clusters are shown if there are several, with their problems', { tags: 'long' }, async () => {
    const { report } = service();
    const page = await open('/operator', { adminToken });
    await page.getByText('of 2 slots busy').waitFor();
    const clusters = page.getByRole('region', { name: 'Clusters', exact: true });
    const hub = { name: 'hub', namespace: 'webcapture', version: '0.2.0', regions: ['us-east'], problems: [] } as const;
    await report({ clusters: [{ ...hub, silentForMs: null }] });
    await untilLive(page);
    expect(await clusters.count()).toBe(0);
    const satellite = { ...hub, name: 'satellite', regions: [], problems: ['eu-west is not part of the fleet.'] };
    await report({
      clusters: [
        { ...hub, silentForMs: 61_000 },
        { ...satellite, silentForMs: null },
      ],
    });
    await clusters.waitFor();
    const rows = await clusters.getByRole('row').allInnerTexts();
    expect(rows[1]).toMatch(/^hub\s+us-east\s+0\.2\.0\s+no report for 1 min/);
    expect(rows[2]).toMatch(/^satellite\s+None\s+0\.2\.0\s+has problems\s+eu-west is not part of the fleet\.$/);
    await report({ clusters: [] });
    await clusters.waitFor({ state: 'detached' });
  });

  test('the fleet remains visible when its events begin', { tags: 'long' }, async () => {
    const page = await open('/keys', { key: service().key, adminToken });
    const release = await holdRequests(page, '**/admin/events*');
    await page.goto(`${service().url}/dashboard/#/operator`);
    await page.getByText('of 2 slots busy').waitFor();
    await page.evaluate(() => {
      const look = () => {
        if (!document.body.innerText.includes('of 2 slots busy')) document.body.classList.add('was-gone');
      };
      new MutationObserver(look).observe(document.body, { subtree: true, childList: true });
    });
    release();
    await untilLive(page);
    expect(await page.locator('body.was-gone').count()).toBe(0);
  });

  test('the fleet is shown live, and accounts are created, limited and suspended', async () => {
    const { api } = service();
    await api.refused({ url: `${site}/unreachable` });
    const page = await open('/operator', { adminToken });
    await page.getByText('of 2 slots busy').waitFor();
    await untilLive(page);
    await page.getByRole('button', { name: 'Create account' }).click();
    await page.getByRole('dialog').getByLabel('Name').fill('Example <i>Ltd</i>');
    await page.getByRole('dialog').getByLabel('Tokens per month').fill('5');
    await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { name: 'New key for the account' }).waitFor();
    await page.getByRole('dialog').getByLabel('Name').fill('First');
    await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
    const key = (await page.getByRole('dialog').locator('.secret-value code').innerText()).trim();
    await page.getByRole('button', { name: 'I have stored it' }).click();
    expect(await api.call('GET', '/usage', { key })).toMatchObject({ tokenQuota: 5 });

    const row = page.getByRole('row').filter({ hasText: 'Example <i>Ltd</i>' });
    await row.getByRole('button', { name: /^Change/ }).click();
    await page.getByRole('dialog').getByLabel('Tokens per month').fill('7');
    const permission = page.getByRole('dialog').getByLabel(/ignore TLS errors/);
    expect(await permission.isChecked()).toBe(false);
    await permission.check();
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await row.getByText('7', { exact: true }).waitFor();
    await row.getByRole('button', { name: /^Change/ }).click();
    expect(await permission.isChecked()).toBe(true);
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    await row.getByRole('button', { name: /^Suspend/ }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Suspend' }).click();
    await row.getByText('suspended').waitFor();
    await expect.poll(() => api.call('GET', '/usage', { key }).catch(String)).toMatch(/suspended/);
    await page.getByRole('region', { name: 'Failed captures' }).getByText('NAVIGATION_FAILED').first().waitFor();
    await expectAllLooks(page, () => page.getByText('of 2 slots busy').waitFor());
  });
});
