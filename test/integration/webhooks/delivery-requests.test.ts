import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CaptureHistory } from '@webcapture/shared/api/capture-history.ts';
import type { Delivery } from '@webcapture/shared/api/delivery.ts';
import { until } from '../../harness/until.ts';
import { publicAddress } from '../egress/sites.ts';
import { dataOf, send } from '../front/accounts.ts';
import { read, startTestFront, type TestFront } from '../front/test-front.ts';
import { leadDeliveries } from './leader.ts';
import { startReceiver, type Receiver } from './receiver.ts';

let front: TestFront;
let receiver: Receiver;
let hook: string;
/** Status of the responses of the receiver. */
let answer = 204;
let stopLeading: () => Promise<void>;

beforeAll(async () => {
  const allow = `${publicAddress}/32`;
  front = await startTestFront({ WEBCAPTURE_EGRESS_ALLOW: allow });
  receiver = await startReceiver(publicAddress, (response) => void response.writeHead(answer).end());
  hook = `http://${publicAddress}:${receiver.port}/hook`;
  stopLeading = leadDeliveries(await front.nats.connect(), allow);
});
afterAll(async () => {
  await stopLeading();
  await receiver.close();
  await front[Symbol.asyncDispose]();
});

async function makeCapture(key: string, body: object = {}): Promise<string> {
  const { body: answered } = await read(
    await front.capture({ url: 'https://example.com/', background: true, ...body }, { key }),
  );
  const uuid = String(answered.data?.['uuid']);
  const state = async () => dataOf<{ status: string }>(await send(`${front.url}/captures/${uuid}`, key));
  await until('the capture to end', async () => (await state()).status === 'completed');
  return uuid;
}

const historyOf = async (key: string, uuid: string) =>
  dataOf<CaptureHistory>(await send(`${front.url}/captures/${uuid}/history`, key));
const deliveriesOf = async (key: string, query = '') =>
  dataOf<{ deliveries: Delivery[] }>(await send(`${front.url}/webhooks/deliveries${query}`, key)).deliveries;
const redeliver = (key: string, uuid: string) =>
  send(`${front.url}/captures/${uuid}/webhook/redeliver`, key, { method: 'POST' });
const sendTest = (key: string, url: string) => send(`${front.url}/webhooks/test`, key, { body: { url } });

test('an event is delivered again, and both histories contain all attempts', async () => {
  const key = await front.makeKey();
  answer = 503;
  const uuid = await makeCapture(key, { webhook: { url: hook } });
  await until('the first attempt', async () => (await historyOf(key, uuid)).deliveries.length === 1);
  const first: Delivery = {
    uuid,
    url: hook,
    event: 'capture.completed',
    revision: 0,
    attempt: 1,
    at: expect.any(String) as string,
    state: 'retrying',
    status: 503,
    error: 'status 503',
    durationMs: expect.any(Number) as number,
  };
  expect(await historyOf(key, uuid)).toMatchObject({ refreshes: [], deliveries: [first] });

  answer = 204;
  const begun = receiver.received.length;
  expect(dataOf(await redeliver(key, uuid))).toEqual({
    url: hook,
    state: 'pending',
    event: 'capture.completed',
    attempts: 0,
    lastStatus: null,
    lastError: null,
    nextAttemptAt: null,
  });
  const second = { ...first, state: 'delivered', status: 204, error: null };
  await until('the second attempt', async () => (await historyOf(key, uuid)).deliveries.length === 2);
  expect((await historyOf(key, uuid)).deliveries).toEqual([second, first]);
  await until('the deliveries to be noted', async () => (await deliveriesOf(key)).length === 2);
  expect(await deliveriesOf(key)).toEqual([second, first]);
  expect(await deliveriesOf(key, '?limit=1')).toEqual([second]);
  const ids = receiver.received.slice(begun - 1).map(({ headers }) => headers['webhook-id']);
  expect(ids).toEqual([`msg_${uuid}_0`, `msg_${uuid}_0`]);

  // A delivered event can be sent again, too.
  expect((await redeliver(key, uuid)).status).toBe(200);
  await until('the third attempt', async () => (await historyOf(key, uuid)).deliveries.length === 3);
});

test('the history lists the result of each refresh, newest first', async () => {
  const key = await front.makeKey();
  const uuid = await makeCapture(key);
  const refresh = async (number: number) => {
    await send(`${front.url}/captures/${uuid}/refresh`, key, { method: 'POST' });
    await until('the refresh to end', async () => {
      const [latest] = (await historyOf(key, uuid)).refreshes;
      return latest?.number === number && latest.endedAt !== null;
    });
  };
  await refresh(1);
  front.renderer.behavior = (job, renderer) => renderer.fail(job, 'NAVIGATION_FAILED', 'It is gone.');
  try {
    await refresh(2);
  } finally {
    front.renderer.behavior = (job, renderer) => renderer.complete(job);
  }
  const times = { by: 'request', acceptedAt: expect.any(String) as string, endedAt: expect.any(String) as string };
  expect((await historyOf(key, uuid)).refreshes).toEqual([
    {
      number: 2,
      ...times,
      state: 'failed',
      error: { code: 'NAVIGATION_FAILED', message: 'It is gone.', cause: 'page' },
      fileSizeBytes: null,
      width: null,
      height: null,
      comparison: null,
    },
    {
      number: 1,
      ...times,
      state: 'completed',
      error: null,
      fileSizeBytes: expect.any(Number) as number,
      width: expect.any(Number) as number,
      height: expect.any(Number) as number,
      comparison: null,
    },
  ]);
});

describe('a test event', () => {
  test('is signed with the secret of the account, and its result is listed among the deliveries', async () => {
    const key = await front.makeKey();
    answer = 204;
    const { id } = dataOf<{ id: string }>(await sendTest(key, hook));
    const had = await until('the event', () => receiver.received.find(({ headers }) => headers['webhook-id'] === id));
    const { secret } = dataOf<{ secret: string }>(await send(`${front.url}/webhooks/secret`, key));
    expect(new Webhook(secret).verify(had.body, had.headers as Record<string, string>)).toEqual({
      type: 'webhook.test',
      timestamp: expect.any(String) as string,
      data: { url: hook },
    });
    await until('the delivery to be noted', async () => (await deliveriesOf(key)).length === 1);
    expect(await deliveriesOf(key)).toEqual([
      {
        uuid: null,
        url: hook,
        event: 'webhook.test',
        revision: 0,
        attempt: 1,
        at: expect.any(String) as string,
        state: 'delivered',
        status: 204,
        error: null,
        durationMs: expect.any(Number) as number,
      },
    ]);
  });

  test('is sent once, has the error in its result, and is refused for addresses closed to captures', async () => {
    const key = await front.makeKey();
    answer = 500;
    await sendTest(key, hook);
    await sendTest(key, 'http://nowhere.invalid/');
    const results = await until('both results', async () => {
      const all = await deliveriesOf(key);
      return all.length === 2 && all;
    });
    expect(results.map(({ url, state, status }) => [url, state, status])).toEqual(
      expect.arrayContaining([
        [hook, 'failed', 500],
        ['http://nowhere.invalid/', 'failed', null],
      ]),
    );
    const blocked = await sendTest(key, 'http://127.0.0.1:1/');
    expect([blocked.status, blocked.body.error?.code]).toEqual([400, 'URL_BLOCKED']);
  });

  test('is limited to ten a minute', async () => {
    const key = await front.makeKey();
    const answers = await Promise.all(Array.from({ length: 11 }, () => sendTest(key, hook)));
    const refused = answers.filter(({ status }) => status !== 200);
    expect(refused.map(({ status, body }) => [status, body.error?.code])).toEqual([[429, 'RATE_LIMIT_EXCEEDED']]);
    expect(Number(refused[0]?.headers.get('retry-after'))).toBeGreaterThan(0);
  });

  test.each([
    [{}, 'url is required'],
    [{ url: 'ftp://example.com/' }, 'url must be an absolute http or https address'],
    [{ url: 'https://user:secret@example.com/' }, 'url must not contain a user name or password'],
    [{ url: hook, event: 'x' }, 'event is not a field of the request'],
  ])('refuses %j', async (body, message) => {
    const answered = await send(`${front.url}/webhooks/test`, await front.makeKey(), { body });
    expect([answered.status, answered.body.error?.code]).toEqual([400, 'VALIDATION_ERROR']);
    expect(answered.body.error?.message).toContain(message);
  });
});

test('a capture without a webhook is a conflict; those of other accounts or missing scopes are refused', async () => {
  const key = await front.makeKey();
  const uuid = await makeCapture(key);
  const conflict = await redeliver(key, uuid);
  expect([conflict.status, conflict.body.error?.message]).toEqual([409, 'The capture has no webhook.']);
  const otherKey = await front.makeKey();
  for (const answered of [
    await redeliver(otherKey, uuid),
    await send(`${front.url}/captures/${uuid}/history`, otherKey),
  ]) {
    expect([answered.status, answered.body.error?.code]).toEqual([404, 'CAPTURE_NOT_FOUND']);
  }
  const reader = await front.makeKey({ scopes: ['read'] });
  for (const answered of [await redeliver(reader, uuid), await sendTest(reader, hook)]) {
    expect([answered.status, answered.body.error?.code]).toEqual([403, 'FORBIDDEN']);
  }
  expect(await deliveriesOf(reader)).toEqual([]);
});

test.each(['0', '101', '1.5', '-1', 'x', ''])('a limit of "%s" is refused', async (limit) => {
  const answered = await send(`${front.url}/webhooks/deliveries?limit=${limit}`, await front.makeKey());
  expect([answered.status, answered.body.error?.code]).toEqual([400, 'VALIDATION_ERROR']);
});
