// @module-tag long
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { CaptureState } from '@webcapture/shared/api/capture.ts';
import type { AccountView } from '@webcapture/shared/api/account.ts';
import type { NewKeyView } from '@webcapture/shared/api/api-key.ts';
import type { Delivery } from '@webcapture/shared/api/delivery.ts';
import { until } from '../harness/until.ts';
import { adminToken, useFleet } from '../harness/use.ts';
import { tlsFixture } from '../integration/egress/tls-fixture.ts';
import { startReceiver, type Receiver } from '../integration/webhooks/receiver.ts';

const fleet = useFleet();

interface Deliveries {
  readonly deliveries: readonly Delivery[];
}

/** Serves the page, and would receive the webhooks. */
let site: Receiver;
beforeAll(async () => {
  site = await startReceiver('127.0.0.1', (response) => response.end('<p>Staging'), tlsFixture);
});
afterAll(() => site.close());

test('the operator permits an account to capture a staging server, and withdraws the permission', async () => {
  const { api } = fleet();
  const operator = { key: adminToken };
  const account = await api.call<AccountView>('POST', '/admin/accounts', { ...operator, body: { name: 'Staging' } });
  const keyBody = { accountId: account.id, name: 'first' };
  const { key } = await api.call<NewKeyView>('POST', '/admin/keys', { ...operator, body: keyBody });
  const permit = (allowIgnoreTlsErrors: boolean) =>
    api.call('PATCH', `/admin/accounts/${account.id}`, { ...operator, body: { allowIgnoreTlsErrors } });

  const page = `https://127.0.0.1:${site.port}/`;
  const request = { url: page, ignoreTlsErrors: true };
  expect(await api.refused(request, { key })).toMatchObject({ status: 400, code: 'VALIDATION_ERROR' });
  await permit(true);
  await until('the permission', async () => (await api.capture(request, { key })).status === 200);
  expect(await api.refused({ url: page }, { key })).toMatchObject({ code: 'NAVIGATION_FAILED' });

  // The option does not concern the webhook.
  const { uuid } = await api.call<CaptureState>('POST', '/capture', {
    key,
    body: {
      ...request,
      background: true,
      webhook: { url: `${page}hook` },
      persistence: { enabled: true, refreshInterval: 5 },
    },
  });
  const state = () => api.call<CaptureState>('GET', `/captures/${uuid}`, { key });
  await until('the capture', async () => (await state()).status === 'completed');
  await permit(false);
  const refused = await until('the refusal of a refresh', async () => {
    const current = await state();
    const refresh = 'refresh' in current ? current.refresh : undefined;
    return refresh?.error?.code === 'FORBIDDEN' ? refresh.error : null;
  });
  expect(refused.message).toMatch(/^Not refreshed: ignoreTlsErrors is not allowed for this account\./);
  const delivery = await until('a failed delivery', async () => {
    const { deliveries } = await api.call<Deliveries>('GET', '/webhooks/deliveries', { key });
    return deliveries.find((each) => each.uuid === uuid);
  });
  expect(delivery).toMatchObject({ status: null, error: expect.stringMatching(/certificate/) as string });
  expect(site.received.some(({ method }) => method === 'POST')).toBe(false);
  await api.call('DELETE', `/captures/${uuid}`, { key });
});
