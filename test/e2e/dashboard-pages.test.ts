import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CaptureState } from '@webcapture/shared/api/capture.ts';
import { scrollsSideways, seriousProblems, useDashboard, type Visitor } from '../harness/dashboard.ts';
import { until } from '../harness/until.ts';
import { useFleet } from '../harness/use.ts';
import { WebhookReceiver } from '../harness/webhook-receiver.ts';

const adminToken = 'the-admin-token-of-this-fleet';
const fleet = useFleet({ slots: 2, env: { WEBCAPTURE_ADMIN_TOKEN: adminToken } });
const dashboard = useDashboard();

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

const open = (route: string, visitor: Visitor = { key: fleet().key }) => dashboard.open(fleet().url, route, visitor);

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

/** A page as it is read by axe in both themes, and on a phone. */
async function looksRight(route: string, visitor: Visitor, isThere: (page: Page) => Promise<void>): Promise<void> {
  for (const look of [{ colorScheme: 'dark' }, { isPhone: true }] as const) {
    const page = await open(route, { ...visitor, ...look });
    await isThere(page);
    expect(await seriousProblems(page)).toEqual([]);
    expect(await scrollsSideways(page)).toBe(false);
    await page.context().close();
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
    expect(await seriousProblems(page)).toEqual([]);

    await page.getByRole('searchbox').fill('ORCHARD');
    await hostile.waitFor({ state: 'detached' });
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Page orchard' }).waitFor();
    await page.goBack();
    await rows.first().waitFor();
    expect(await page.getByRole('searchbox').inputValue()).toBe('ORCHARD');
    await looksRight('/captures', { key: fleet().key }, (other) => other.getByText('Page orchard').first().waitFor());
  });
});
