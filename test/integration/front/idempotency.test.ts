import { randomUUID, randomUUIDv7 } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { CaptureJob } from '@webcapture/shared/queue/job.ts';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import { idempotencyKey, type IdempotencyEntry } from '../../../services/front/idempotency/keys.ts';
import { withoutAnswerMs } from '../../harness/records.ts';
import { until } from '../../harness/until.ts';
import { adminToken, openAccount, send } from './accounts.ts';
import { holdJobs } from './background.ts';
import { presetKey, read, startTestFront, type TestFront } from './test-front.ts';

let testFront: TestFront;
let fronts: string[];
let db: Entries;
beforeAll(async () => {
  testFront = await startTestFront({ WEBCAPTURE_ADMIN_TOKEN: adminToken });
  fronts = [testFront.url, await testFront.addFront()];
  db = new Entries(testFront.nats.session, 'db');
});
afterAll(() => testFront[Symbol.asyncDispose]());
beforeEach(() => {
  testFront.renderer.behavior = (job, renderer) => renderer.complete(job);
});

const url = 'https://example.com/';
const account = 'demo';

interface Asking {
  readonly front?: number;
  readonly token?: string;
  readonly signal?: AbortSignal;
}

function post(key: string, body: object = { url }, { front = 0, token = presetKey, signal }: Asking = {}) {
  return fetch(`${fronts[front]}/capture`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}`, 'idempotency-key': key },
    body: JSON.stringify(body),
    signal: signal ?? AbortSignal.timeout(40_000),
  });
}

const ask = async (key: string, body?: object, asking?: Asking) => read(await post(key, body, asking));

const renders = () => testFront.renderer.jobs.length;
const entryOf = async (key: string) => (await db.get<IdempotencyEntry>(idempotencyKey(account, key)))?.value ?? null;

async function charged(): Promise<number> {
  const { body } = await read(await testFront.call('/usage'));
  return Number(body.data?.['tokensUsed']);
}

async function metric(result: string): Promise<number> {
  const found = await testFront.metrics.getSingleMetric('webcapture_front_idempotent_requests_total')?.get();
  return found?.values.find(({ labels }) => labels['result'] === result)?.value ?? -1;
}

describe('a repeated key and body', () => {
  test.each([{}, { responseCache: { enabled: true } }])('is answered byte for byte, on any front: %j', async (more) => {
    const [key, body] = [randomUUID(), { url: `${url}${randomUUID()}`, ...more }];
    const [before, tokens, replays] = [renders(), await charged(), await metric('replayed')];
    const first = await post(key, body);
    const text = await first.text();
    expect([first.status, first.headers.get('idempotent-replayed')]).toEqual([200, null]);
    for (const front of [0, 1]) {
      const again = await post(key, body, { front });
      expect(await again.text()).toBe(text);
      expect(again.headers.get('idempotent-replayed')).toBe('true');
      expect(again.headers.get('x-capture-uuid')).toBe(first.headers.get('x-capture-uuid'));
      expect(again.headers.get('x-ratelimit-limit')).toBeNull();
    }
    expect([renders() - before, (await charged()) - tokens, (await metric('replayed')) - replays]).toEqual([1, 1, 1]);
  });

  test('is answered with the same file, and with a clear error if the file is gone', async () => {
    const [key, before] = [randomUUID(), renders()];
    const body = { url, responseType: 'file' };
    const first = await post(key, body);
    const bytes = await first.text();
    const again = await post(key, body, { front: 1 });
    expect(await again.text()).toBe(bytes);
    for (const name of ['content-type', 'content-length', 'content-disposition', 'x-capture-uuid']) {
      expect(again.headers.get(name), name).toBe(first.headers.get(name));
    }
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([200, 'true']);
    await testFront.renderer.store.remove(testFront.renderer.jobs.at(-1)?.file.object ?? '');
    const { status, body: envelope, headers } = await ask(key, body);
    expect([status, envelope.error?.code, headers.get('idempotent-replayed')]).toEqual([500, 'STORAGE_FAILED', null]);
    expect(envelope.error?.message).toContain('no longer exists');
    expect(renders() - before).toBe(1);
  });

  test('waits for the first request, and is charged once, on any front', async () => {
    const [key, before, tokens] = [randomUUID(), renders(), await charged()];
    const release = holdJobs(testFront.renderer);
    const asked = [0, 1, 0, 1, 0, 1].map((front) => ask(key, { url }, { front }));
    await until('it to be rendered', () => renders() > before);
    release();
    const answers = await Promise.all(asked);
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(new Set(answers.map(({ body }) => JSON.stringify(withoutAnswerMs(body)))).size).toBe(1);
    expect(answers.filter(({ headers }) => headers.get('idempotent-replayed') === null)).toHaveLength(1);
    expect([renders() - before, (await charged()) - tokens]).toEqual([1, 1]);
  });

  test('is stored for 24 hours', async () => {
    const key = randomUUID();
    await ask(key);
    const subject = db.subject(idempotencyKey(account, key));
    const message = await testFront.nats.session.jsm.streams.getMessage('KV_db', { last_by_subj: subject });
    expect(message?.header.get('Nats-TTL')).toBe('86400s');
  });
});

test('another body under the same key is refused, but the order of fields does not matter', async () => {
  const [key, mismatches] = [randomUUID(), await metric('mismatch')];
  await ask(key, { url, format: 'jpeg' });
  expect((await ask(key, { format: 'jpeg', url })).status).toBe(200);
  const { status, body } = await ask(key, { url });
  expect([status, body.error?.code]).toEqual([400, 'VALIDATION_ERROR']);
  expect(body.error?.message).toContain('another body');
  expect((await metric('mismatch')) - mismatches).toBe(1);
});

test('another account may use the same key for another request', async () => {
  const key = randomUUID();
  const [mine, others] = [await ask(key), await ask(key, { url }, { token: await testFront.makeKey() })];
  expect(others.status).toBe(200);
  expect(others.body.data?.['uuid']).not.toBe(mine.body.data?.['uuid']);
});

test('a failed capture is not stored: the next request renders again, under another uuid', async () => {
  const [key, before] = [randomUUID(), renders()];
  testFront.renderer.behavior = (job, renderer) => renderer.fail(job, 'NAVIGATION_FAILED', 'The page is unavailable.');
  expect((await ask(key)).status).toBe(500);
  expect(await entryOf(key)).toBeNull();
  testFront.renderer.behavior = (job, renderer) => renderer.complete(job);
  expect((await ask(key)).status).toBe(200);
  const [failed, completed] = testFront.renderer.jobs.slice(before);
  expect(failed?.uuid).not.toBe(completed?.uuid);
});

test('a request that waits for a capture that fails renders instead', async () => {
  const [key, before] = [randomUUID(), renders()];
  let fail = () => {};
  const mayFail = new Promise<void>((resolve) => (fail = resolve));
  testFront.renderer.behavior = async (job, renderer) => {
    if (renders() > before + 1) return renderer.complete(job);
    await mayFail;
    await renderer.fail(job, 'NAVIGATION_FAILED', 'The page is unavailable.');
  };
  const first = ask(key, { url }, { front: 1 });
  await until('the first to be rendered', () => renders() > before);
  const second = ask(key);
  fail();
  expect([(await first).status, (await second).status]).toEqual([500, 200]);
});

test.each([
  ['RATE_LIMIT_EXCEEDED', { ratePerMinute: 1, burst: 1 }, { ratePerMinute: 6000, burst: 100_000 }],
  ['QUOTA_EXCEEDED', { tokenQuota: 1 }, { tokenQuota: 100 }],
])('after %s the same key works later', async (code, limits, wider) => {
  const { account, first } = await openAccount(testFront.url, limits);
  const key = randomUUID();
  expect((await ask(randomUUID(), { url }, { token: first.key })).status).toBe(200);
  expect((await ask(key, { url }, { token: first.key })).body.error?.code).toBe(code);
  await send(`${testFront.url}/admin/accounts/${account.id}`, adminToken, { method: 'PATCH', body: wider });
  await until('the limit to be wider', async () => (await ask(key, { url }, { token: first.key })).status === 200);
});

test('a waiting client that disconnects does not affect the first request', async () => {
  const [key, before] = [randomUUID(), renders()];
  const release = holdJobs(testFront.renderer);
  const first = ask(key);
  await until('it to be rendered', () => renders() > before);
  const leaving = new AbortController();
  const second = post(key, { url }, { front: 1, signal: leaving.signal }).catch(() => 'gone');
  leaving.abort();
  expect(await second).toBe('gone');
  release();
  expect((await first).status).toBe(200);
  expect(renders() - before).toBe(1);
});

describe('the front of the first request dies', () => {
  /** Writes the entry that the front leaves behind: an open lease without an answer. */
  async function leaveBehind(key: string, lease: { uuid: string; until: number }) {
    const entry = await entryOf(key);
    await db.put(idempotencyKey(account, key), { ...entry, lease, answer: null });
  }

  test('after its capture has completed: a repeated request gets it, at no further cost', async () => {
    const [key, before] = [randomUUID(), renders()];
    const first = await ask(key);
    const tokens = await charged();
    await leaveBehind(key, { uuid: String(first.body.data?.['uuid']), until: 0 });
    const again = await ask(key, { url }, { front: 1 });
    expect(again.body).toEqual(withoutAnswerMs(first.body));
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect([renders() - before, (await charged()) - tokens]).toEqual([1, 0]);
    expect((await entryOf(key))?.answer).toMatchObject({ uuid: first.body.data?.['uuid'] });
  });

  test('while the capture is rendered: a repeated request waits for the capture', async () => {
    const [key, before] = [randomUUID(), renders()];
    const release = holdJobs(testFront.renderer);
    const leaving = new AbortController();
    const first = post(key, { url }, { signal: leaving.signal }).catch(() => 'gone');
    await until('it to be rendered', () => renders() > before);
    const job = testFront.renderer.jobs.at(-1) as CaptureJob;
    expect((await entryOf(key))?.lease.uuid).toBe(job.uuid);
    leaving.abort();
    expect(await first).toBe('gone');
    // The lease lasts until the deadline of the capture, which has no record before it ends.
    const { lease } = (await entryOf(key)) ?? { lease: { uuid: '', until: 0 } };
    expect(lease.uuid).toBe(job.uuid);
    expect(lease.until).toBeGreaterThanOrEqual(job.deadline);
    await leaveBehind(key, lease);
    const again = ask(key, { url }, { front: 1 });
    release();
    expect((await again).body.data).toMatchObject({ uuid: job.uuid, status: 'completed' });
    expect(renders() - before).toBe(1);
  });

  test('before a capture was accepted: one request takes over when the lease has expired', async () => {
    const [key, before] = [randomUUID(), renders()];
    await ask(key);
    const lost = randomUUIDv7();
    const lapses = Date.now() + 1000;
    await leaveBehind(key, { uuid: lost, until: lapses });
    // A request that arrives late gets the stored answer.
    const others = async () => (await metric('waited')) + (await metric('replayed'));
    const [taken, answered] = [await metric('taken_over'), await others()];
    const answers = await Promise.all([1, 2, 3, 4].map(() => ask(key)));
    expect(Date.now()).toBeGreaterThanOrEqual(lapses);
    expect(new Set(answers.map(({ body }) => body.data?.['uuid'])).size).toBe(1);
    expect(answers[0]?.body.data?.['uuid']).not.toBe(lost);
    expect([renders() - before, (await metric('taken_over')) - taken, (await others()) - answered]).toEqual([2, 1, 3]);
  });

  test('with the cache, the capture has the uuid of the lease', async () => {
    const [key, before] = [randomUUID(), renders()];
    const release = holdJobs(testFront.renderer);
    const first = ask(key, { url: `${url}${key}`, responseCache: { enabled: true } });
    await until('it to be rendered', () => renders() > before);
    const uuid = testFront.renderer.jobs.at(-1)?.uuid ?? '';
    expect((await entryOf(key))?.lease.uuid).toBe(uuid);
    release();
    expect((await first).body.data?.['uuid']).toBe(uuid);
    expect((await testFront.renderer.captures.get(account, uuid))?.value.uuid).toBe(uuid);
  });
});

describe('the Idempotency-Key header', () => {
  test.each([
    ['empty', ['']],
    ['too long', ['k'.repeat(256)]],
    ['with a space', ['a b']],
    ['beyond ASCII', ['caf\xe9']],
    ['sent twice', ['a', 'a']],
  ])('that is %s is refused', async (_, values) => {
    const status = await new Promise<{ status: number; text: string }>((resolve, reject) => {
      const sent = httpRequest(
        `${testFront.url}/capture`,
        {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            authorization: `Bearer ${presetKey}`,
            'idempotency-key': values,
          },
        },
        (response) => {
          let text = '';
          response.setEncoding('utf8').on('data', (part: string) => (text += part));
          response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
        },
      );
      sent.on('error', reject).end(JSON.stringify({ url }));
    });
    expect(status.status).toBe(400);
    expect(status.text).toMatch(/VALIDATION_ERROR.*Idempotency-Key header (must be 1 to 255|may be sent only once)/);
  });

  test('of 255 characters is accepted', async () => {
    expect((await ask(`~!/.*>${'k'.repeat(249)}`)).status).toBe(200);
  });
});

test('requests with a key are refused while NATS is down', { tags: 'long' }, async () => {
  const key = randomUUID();
  await ask(key);
  await testFront.nats.kill();
  try {
    const { status, body } = await ask(key);
    expect([status, body.error?.code]).toEqual([500, 'INTERNAL_ERROR']);
    expect(body.error?.message).toContain('again in a few seconds');
  } finally {
    await testFront.nats.start();
  }
  await until('the kept answer to be there again', async () => (await ask(key)).status === 200);
});
