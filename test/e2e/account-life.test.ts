// @module-tag long
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AccountView, UsageView } from '@webcapture/shared/api/account.ts';
import type { NewKeyView } from '@webcapture/shared/api/api-key.ts';
import type { CaptureResult, CaptureState } from '@webcapture/shared/api/capture.ts';
import { outcomeOf } from '../harness/api.ts';
import { Picture } from '../harness/picture.ts';
import { until } from '../harness/until.ts';
import { adminToken, useFleet, useSite } from '../harness/use.ts';
import { WebhookReceiver } from '../harness/webhook-receiver.ts';

// The file has its own fleet. On the shared one, bad requests of other files would use up the failed authentications of 127.0.0.1.
const fleet = useFleet({
  slots: 3,
  env: { WEBCAPTURE_ADMIN_TOKEN: adminToken, WEBCAPTURE_MIN_REFRESH_INTERVAL: '1' },
});
const site = useSite();

let receiver: WebhookReceiver;
beforeAll(async () => {
  receiver = await WebhookReceiver.start();
});
afterAll(() => receiver[Symbol.asyncDispose]());

/**
 * Returns the responses of all endpoints that the caller does not test separately, as the account holder or, with the admin token, as the
 * operator.
 */
async function call<T>(method: string, path: string, token: string, body?: object) {
  const response = await fetch(fleet().url + path, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const { data, error } = (await response.json()) as { data: T; error: { code: string } | null };
  return { status: response.status, code: error?.code ?? null, data };
}

/** One account goes through all steps in this order; each step depends on the state after the previous one. */
describe('the life of an account', () => {
  let account: AccountView;
  let key: string;
  let shortLived: CaptureResult;
  let lasting: CaptureResult;

  const usage = async () => (await call<UsageView>('GET', '/usage', key)).data;
  const state = async (uuid: string) => (await call<CaptureState>('GET', `/captures/${uuid}`, key)).data;
  const list = async (query: string) => {
    const { data } = await call<{ items: CaptureState[] }>('GET', `/captures?${query}`, key);
    return data.items.map(({ uuid }) => uuid);
  };
  const capture = (body: object) => fleet().api.capture(body, { key });
  const page = (color: string) => site().url('/color', { c: color });
  let cachedUrl: string | undefined;
  const cachedBody = () => ({
    url: (cachedUrl ??= page('ff0000')),
    cdnTtl: 61,
    responseCache: { enabled: true },
  });
  const change = (limits: object) => call<AccountView>('PATCH', `/admin/accounts/${account.id}`, adminToken, limits);
  const completed = (uuid: string) =>
    until(`${uuid} to be completed`, async () => {
      const found = await state(uuid);
      return found.status === 'completed' && (found as CaptureResult);
    });

  test('the operator creates it, with limits and a first key', async () => {
    const limits = { tokenQuota: 6, ratePerMinute: 60, burst: 30, maxInFlight: 1, maxQueued: 2 };
    const opened = await call<AccountView>('POST', '/admin/accounts', adminToken, { name: 'Example Ltd', ...limits });
    expect(opened).toMatchObject({ status: 200, data: { ...limits, suspended: false } });
    account = opened.data;
    const first = await call<NewKeyView>('POST', '/admin/keys', adminToken, { accountId: account.id, name: 'first' });
    expect(first.data).toMatchObject({ scopes: ['capture', 'read', 'manage'] });
    expect(first.data.key).toMatch(/^wc_live_\w{38}$/);
    ({ key } = first.data);
  });

  test('the holder creates another key, and revokes it', async () => {
    const made = await call<NewKeyView>('POST', '/keys', key, { name: 'reader', scopes: ['read'] });
    expect((await call('GET', '/usage', made.data.key)).status).toBe(200);
    expect((await fleet().api.refused({ url: page('00ff00') }, { key: made.data.key })).status).toBe(401);
    expect((await call('DELETE', `/keys/${made.data.id}`, key)).status).toBe(200);
    await until(
      'the key to be refused',
      async () => (await call('GET', '/usage', made.data.key)).code === 'API_KEY_REVOKED',
    );
  });

  test('captures are rendered, and then served from the cache', async () => {
    shortLived = await fleet().api.captured(cachedBody(), { key });
    expect(shortLived).toMatchObject({ status: 'completed', fromCache: false, tokenCost: 1 });
    expect((await capture(cachedBody())).body?.data).toMatchObject({
      uuid: shortLived.uuid,
      fromCache: true,
      tokenCost: 0,
    });
    expect(await usage()).toMatchObject({ tokensUsed: 1, tokenQuota: 6, inFlight: 0 });
  });

  test('captures reach the limits: first in flight, then queued', async () => {
    const held = site().visit('/held');
    const holding = capture({ url: held.url });
    await held.underWay(holding);
    // Another account has the other slots, so captures of this one stay queued.
    const others = [site().visit('/held'), site().visit('/held')];
    const holdingOthers = others.map(({ url }) => fleet().api.captured({ url }));
    await Promise.all(others.map((visit) => visit.underWay(Promise.all(holdingOthers))));
    expect(outcomeOf(await capture({ url: page('00ff00') }))).toBe('QUEUE_FULL');

    const background = { url: page('0000ff'), background: true, webhook: { url: receiver.url } };
    const [first, second, third] = [await capture(background), await capture(background), await capture(background)];
    expect([first, second, third].map(outcomeOf)).toEqual(['completed', 'completed', 'QUEUE_FULL']);
    expect(Number(third.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    const [kept = '', cancelled = ''] = [first, second].map(({ body }) => body?.data?.uuid);
    expect(first.body?.data).toMatchObject({ status: 'queued', tokenCost: 1, fromCache: false });
    expect(await list('status=queued')).toEqual([cancelled, kept]);
    expect((await call<CaptureState>('DELETE', `/captures/${cancelled}`, key)).data.status).toBe('deleted');

    for (const visit of [held, ...others]) visit.release();
    expect(outcomeOf(await holding)).toBe('completed');
    await Promise.all(holdingOthers);
    const done = await completed(kept);
    expect(done.fileUrl).toBe(first.body?.data?.fileUrl);
    expect((await state(cancelled)).status).toBe('deleted');
    expect((await usage()).tokensUsed).toBe(3);

    const { data } = await call<{ secret: string }>('GET', '/webhooks/secret', key);
    const delivery = await until('the webhook to be called', () => receiver.about(kept)[0]);
    const headers = delivery.headers as Record<string, string>;
    expect(new Webhook(data.secret).verify(delivery.body, headers)).toMatchObject({
      type: 'capture.completed',
      data: { uuid: kept, status: 'completed', fileUrl: done.fileUrl },
    });
    await until(
      'the record to contain the delivery',
      async () => ((await state(kept)) as CaptureResult).webhook?.state === 'delivered',
    );
    expect(receiver.about(cancelled)).toEqual([]);
  });

  test('the tokens are used up, and the operator increases the quota', async () => {
    expect(outcomeOf(await capture({ url: page('00ff00'), antiBot: true }))).toBe('completed');
    expect(outcomeOf(await capture({ url: page('00ff00'), antiBot: true }))).toBe('QUOTA_EXCEEDED');
    expect(outcomeOf(await capture({ url: page('00ff00') }))).toBe('completed');
    expect(outcomeOf(await capture({ url: page('00ff00'), background: true }))).toBe('QUOTA_EXCEEDED');
    expect(await usage()).toMatchObject({ tokensUsed: 6 });
    expect((await change({ tokenQuota: 1000 })).status).toBe(200);
    await until('the new quota to apply', async () => (await usage()).tokenQuota === 1000);
  });

  test('a page is persisted; a refresh keeps the address, and keeps the ETag if the picture is the same', async () => {
    const changing = site().visit('/mood');
    lasting = await fleet().api.captured({ url: changing.url, persistence: { enabled: true } }, { key });
    const before = await fetch(lasting.fileUrl);
    expect(before.headers.get('cache-control')).toBe('public, max-age=300, must-revalidate');
    expect((await Picture.of(Buffer.from(await before.arrayBuffer()))).share('#00ff00')).toBe(1);
    const refresh = async (count: number) => {
      const asked = await call<CaptureResult>('POST', `/captures/${lasting.uuid}/refresh`, key);
      expect(asked.data).toMatchObject({ status: 'completed', fileUrl: lasting.fileUrl });
      await until('the refresh to end', async () => {
        const { refresh } = (await state(lasting.uuid)) as CaptureResult;
        return refresh?.state === 'completed' && refresh.tokensCharged === count;
      });
      return fetch(lasting.fileUrl);
    };
    expect((await refresh(1)).headers.get('etag')).toBe(before.headers.get('etag'));
    changing.release();
    const after = await refresh(2);
    expect(after.headers.get('etag')).not.toBe(before.headers.get('etag'));
    expect((await Picture.of(Buffer.from(await after.arrayBuffer()))).share('#ff0000')).toBe(1);
    expect(await usage()).toMatchObject({ tokensUsed: 9 });
  });

  test('a page with automatic refreshes is refreshed until it is deleted', async () => {
    const persistence = { enabled: true, refreshInterval: 1 };
    const { uuid, fileUrl } = await fleet().api.captured({ url: page('00ff00'), persistence }, { key });
    await until('three refreshes', async () => {
      const { refresh } = (await state(uuid)) as CaptureResult;
      return (refresh?.tokensCharged ?? 0) >= 3;
    });
    await until(
      'the capture to be deleted',
      async () => (await call('DELETE', `/captures/${uuid}`, key)).status === 200,
    );
    expect((await fetch(fileUrl)).status).toBe(404);
    const { refresh } = (await state(uuid)) as CaptureResult;
    expect((await state(uuid)).status).toBe('deleted');
    expect(await list('status=deleted')).toContain(uuid);
    // Charged tokens stay charged. 9 tokens were charged before; this capture and its refreshes add the others.
    expect((await usage()).tokensUsed).toBe(9 + 1 + (refresh?.tokensCharged ?? 0));
  });

  test('too many requests reach the rate limit', async () => {
    await change({ burst: 2, ratePerMinute: 6 });
    const answers = await until('the rate limit', async () => {
      const answer = await capture({ url: page('00ff00') });
      return outcomeOf(answer) === 'RATE_LIMIT_EXCEEDED' && answer;
    });
    expect(answers.headers.get('x-ratelimit-limit')).toBe('6');
    expect(Number(answers.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    await change({ burst: 30, ratePerMinute: 600 });
  });

  test('the first capture expires: file, cache entry and record show it', async () => {
    await until('the file to be gone', async () => (await fetch(shortLived.fileUrl)).status === 404, {
      deadlineMs: 70_000,
      intervalMs: 250,
    });
    await until(
      'the record to be expired',
      async () => (await fleet().usageCheck.record(shortLived.uuid, account.id))?.status === 'expired',
    );
    expect(await list('status=expired')).toEqual([shortLived.uuid]);
    const again = await until('the limits to apply', async () => {
      const answer = await capture(cachedBody());
      return answer.status === 200 && answer;
    });
    expect(again.body?.data).toMatchObject({ fromCache: false, tokenCost: 1 });
  });

  test("the operator suspends it, and its usage is the sum of its captures' costs", async () => {
    const charged = (await fleet().usageCheck.records(account.id)).reduce(
      (sum, { outcome, tokenCost, refreshCharges = {} }) =>
        sum +
        (outcome === undefined ? 0 : tokenCost) +
        Object.values(refreshCharges).reduce((tokens, charge) => tokens + charge.tokens, 0),
      0,
    );
    expect((await usage()).tokensUsed).toBe(charged);
    expect((await change({ suspended: true })).data).toMatchObject({ suspended: true });
    await until('the key to be refused', async () => (await capture({ url: page('00ff00') })).status === 401);
    for (const [method, path] of [
      ['GET', '/usage'],
      ['GET', '/captures'],
      ['GET', `/captures/${lasting.uuid}`],
      ['POST', `/captures/${lasting.uuid}/refresh`],
      ['DELETE', `/captures/${lasting.uuid}`],
    ] as const) {
      expect([path, (await call(method, path, key)).status]).toEqual([path, 403]);
    }
    expect((await fetch(lasting.fileUrl)).status).toBe(200);
  });
});
