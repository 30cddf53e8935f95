// @module-tag long
import { inspect } from 'node:util';
import type { Locator, Page } from 'playwright';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CaptureHistory } from '@webcapture/shared/api/capture-history.ts';
import type { CaptureState } from '@webcapture/shared/api/capture.ts';
import { expectAccessible, expectAllLooks, type OpenOptions, untilLive, useDashboard } from '../harness/dashboard.ts';
import { until } from '../harness/until.ts';
import { useFleet, useSite } from '../harness/use.ts';
import { WebhookReceiver } from '../harness/webhook-receiver.ts';

const adminToken = 'the-admin-token-of-this-fleet';
const fleet = useFleet({ slots: 2, env: { WEBCAPTURE_ADMIN_TOKEN: adminToken } });
const site = useSite();
const openDashboard = useDashboard(fleet);

const open = (route: string, visitor: OpenOptions = { key: fleet().key }) =>
  openDashboard({ ...visitor, route: `#${route}` });

let receiver: WebhookReceiver;
beforeAll(async () => {
  receiver = await WebhookReceiver.start();
});
afterAll(() => receiver[Symbol.asyncDispose]());

describe('webhooks', () => {
  test('the secret is hidden until it is requested, and a test event arrives', async () => {
    const page = await open('/webhooks');
    const secret = await fleet().api.call<{ secret: string }>('GET', '/webhooks/secret');
    await page.getByText('It is hidden until you show it.').waitFor();
    expect(await page.content()).not.toContain(secret.secret);
    await page.getByRole('button', { name: 'Show' }).click();
    await page.getByText(secret.secret).waitFor();
    await page.getByLabel('Address of the receiver').fill(receiver.url);
    await page.getByRole('button', { name: 'Send a test event' }).click();
    const row = page.getByRole('row').filter({ hasText: 'webhook.test' });
    await row.getByText('delivered').waitFor();
    expect(receiver.events.map(({ type }) => type)).toContain('webhook.test');
    await expectAllLooks(page, () => page.getByText('webhook.test').first().waitFor());
  });

  test('the page of a capture shows its deliveries, and can redeliver its event', async () => {
    const body = { url: site().url('/text', { title: 'Page told' }), background: true, webhook: { url: receiver.url } };
    const { uuid } = await fleet().api.call<CaptureState>('POST', '/capture', { body });
    await until('the event', () => receiver.about(uuid).length === 1);
    // The history and the state of the webhook are written after the receiver has responded. The page reads both when it opens.
    await until('the record of its delivery', async () => {
      const { deliveries } = await fleet().api.call<CaptureHistory>('GET', `/captures/${uuid}/history`);
      const { webhook } = await fleet().api.call<{ webhook: { state: string } }>('GET', `/captures/${uuid}`);
      return deliveries.length === 1 && webhook.state === 'delivered';
    });
    const page = await open(`/captures/${uuid}`);
    const deliveries = page.getByRole('region', { name: 'Webhook deliveries' }).getByRole('row');
    await deliveries.filter({ hasText: 'capture.completed' }).getByText('delivered').waitFor();
    await page.getByRole('button', { name: 'Redeliver' }).click();
    expect(await page.locator('.toast').innerText()).toContain('Redelivery of the latest event started');
    await expect.poll(() => receiver.about(uuid).length).toBe(2);
    await page.getByRole('button', { name: 'Refresh' }).click();
    await page.getByRole('region', { name: 'Refreshes' }).getByText('completed').waitFor();
    await expectAccessible(page);
  });
});

test('the list follows a background capture until it ends, also after the stream was cut', async () => {
  const page = await open('/captures');
  await untilLive(page);
  const first = await fleet().api.call<CaptureState>('POST', '/capture', {
    body: { url: site().url('/text', { title: 'Page followed' }), background: true },
  });
  const row = page.locator(`a[href$="${first.uuid}"]`);
  await row.getByText('completed').waitFor();

  const front = fleet().fronts[0];
  await front?.kill();
  await page.getByText('Connecting…').waitFor();
  await page.getByText('The service does not respond.').waitFor();
  expect(await row.isVisible()).toBe(true);
  await front?.start();
  await untilLive(page);
  await page.getByText('The service does not respond.').waitFor({ state: 'detached' });
  const second = await fleet().api.call<CaptureState>('POST', '/capture', {
    body: { url: site().url('/text', { title: 'Page after' }), background: true },
  });
  await page.locator(`a[href$="${second.uuid}"]`).getByText('completed').waitFor();
});

/** This test is the last one, because it disturbs the fleet. */
test('without NATS every page reports the outage, keeps its content, and recovers automatically', async () => {
  const { uuid } = await fleet().api.captured({ url: site().url('/text', { title: 'Page kept' }) });
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
  await all('before the outage', isWell);

  await fleet().nats.kill();
  const accounts = fleet().api.call('GET', '/admin/accounts', { key: adminToken });
  await expect(accounts).rejects.toThrow('again in a few seconds');
  await all('outage shown', ({ page }) => outage(page).waitFor({ timeout: 60_000 }));
  await all('kept', async ({ page, parts }) => {
    const stays = parts(page).filter((part) => !/Live|slots|operational/.test(String(part)));
    for (const part of stays) expect(await part.isVisible()).toBe(true);
  });
  await fleet().nats.start();
  await all('recovered', isWell);

  // Pages that are opened during the outage.
  await fleet().nats.kill();
  await all('outage shown after a reload', async ({ page, name }) => {
    await page.reload();
    await outage(page).waitFor({ timeout: 60_000 });
    if (name !== '/playground') await page.getByRole('alert').first().waitFor({ timeout: 60_000 });
  });
  const playground = opened[0]?.page;
  await playground?.getByLabel('Address', { exact: true }).fill(site().url('/text', { title: 'Page later' }));
  await playground?.keyboard.press('Control+Enter');
  await playground?.getByRole('alert').waitFor();
  await fleet().nats.start();
  // Until the renderers are back, the capture would fail again.
  await fleet().operational();
  await playground?.getByRole('button', { name: 'Try again' }).click();
  await all('recovered after a reload', isWell);
  await playground?.getByRole('img', { name: 'Capture of Page later' }).waitFor();
});
