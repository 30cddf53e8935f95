import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { maxBodyBytes } from '../../../services/front/api/capture-body.ts';
import { maxSharedBytes } from '../../../services/front/batches/batch-rules.ts';
import { until } from '../../harness/until.ts';
import { completeJobs, type Holder, holdJobs, openHolder, startBackgroundFront, wide } from './background.ts';
import { pages, readBatch, sendBatch, untilBatchEnds, uuidsOf } from './batches.ts';
import type { TestFront } from './test-front.ts';

let front: TestFront;
let holder: Holder;
beforeAll(async () => {
  front = await startBackgroundFront();
  holder = await openHolder(front);
});
afterAll(() => front[Symbol.asyncDispose]());
beforeEach(() => completeJobs(front.renderer));

const batch = (requests: unknown, more: object = {}, key: string | null = holder.key) =>
  sendBatch(front, key, { requests, ...more });

async function refusal(...args: Parameters<typeof batch>) {
  const { status, error } = await batch(...args);
  return { status, ...error };
}

describe('a batch', () => {
  test('queues all requests, and shows their states in the same order', async () => {
    const release = holdJobs(front.renderer);
    const requests = [...pages(2), { html: '<h1>Hello</h1>' }];
    const { status, headers, data } = await batch(requests);
    expect(status).toBe(200);
    expect(headers.get('x-ratelimit-limit')).toBe(String(wide.ratePerMinute));
    expect(data).toMatchObject({ status: 'processing', endedAt: null, tokensCharged: 0 });
    expect(data.counts).toMatchObject({ total: 3, completed: 0, failed: 0 });
    expect(new Set(uuidsOf(data)).size).toBe(3);
    release();
    const ended = await untilBatchEnds(front, holder.key, data.id);
    expect(uuidsOf(ended)).toEqual(uuidsOf(data));
    expect(ended.captures.map(({ url }) => url)).toEqual([
      'https://example.com/0',
      'https://example.com/1',
      'about:blank',
    ]);
    expect(ended.counts).toEqual({
      total: 3,
      queued: 0,
      rendering: 0,
      completed: 3,
      failed: 0,
      expired: 0,
      deleted: 0,
    });
    expect(ended.tokensCharged).toBe(3);
    expect(ended.endedAt).toEqual(expect.any(String));
    for (const { uuid, fileUrl, fromCache, error } of ended.captures) {
      expect({ fromCache, error }).toEqual({ fromCache: false, error: null });
      expect(await holder.state(uuid)).toMatchObject({ status: 'completed', fileUrl, batch: data.id });
    }
  });

  test('counts failed and deleted captures, and says why the former failed', async () => {
    front.renderer.behavior = (job, renderer) =>
      job.source.kind === 'url' && job.source.url.endsWith('/0')
        ? renderer.fail(job, 'NAVIGATION_FAILED', 'The page is away.')
        : renderer.complete(job);
    const { data } = await batch(pages(2));
    const ended = await untilBatchEnds(front, holder.key, data.id);
    expect(ended.captures[0]).toMatchObject({
      status: 'failed',
      fileUrl: null,
      error: { code: 'NAVIGATION_FAILED', message: 'The page is away.' },
    });
    await holder.remove(ended.captures[1]?.uuid ?? '');
    const { data: after } = await readBatch(front, holder.key, data.id);
    expect(after.counts).toMatchObject({ total: 2, completed: 0, failed: 1, deleted: 1 });
    expect(after).toMatchObject({ status: 'completed', tokensCharged: 1 });
  });

  test('belongs to its account', async () => {
    const { data } = await batch(pages(1));
    const other = await openHolder(front);
    for (const id of [data.id, 'nothing', `${data.id}x`]) {
      const { status, error } = await readBatch(front, other.key, id);
      expect({ id, status, code: error?.code }).toEqual({ id, status: 404, code: 'NOT_FOUND' });
    }
  });

  test('needs a key with the scope', async () => {
    expect(await refusal(pages(1), {}, null)).toMatchObject({ status: 401, code: 'UNAUTHORIZED' });
    const key = await front.makeKey({ scopes: ['read'] });
    expect(await refusal(pages(1), {}, key)).toMatchObject({ status: 401, code: 'UNAUTHORIZED' });
  });
});

describe('shared options', () => {
  test('apply to requests that do not override them, field by field', async () => {
    const options = { format: 'webp', viewport: { width: 900, height: 700 }, cdnTtl: 3600 };
    const requests = [...pages(1), ...pages(1, { format: 'pdf', viewport: { width: 800 } })];
    const { data } = await batch(requests, { options });
    await untilBatchEnds(front, holder.key, data.id);
    const records = await Promise.all(uuidsOf(data).map((uuid) => holder.record(uuid)));
    expect(records.map((record) => record.options)).toMatchObject([
      { format: 'webp', viewport: { width: 900, height: 700, deviceScaleFactor: 1 } },
      { format: 'pdf', viewport: { width: 800, height: 700, deviceScaleFactor: 1 } },
    ]);
    expect(records.map(({ lifetimeMs }) => lifetimeMs)).toEqual([3_600_000, 3_600_000]);
  });

  test('can name a device, whose viewport a request overrides', async () => {
    const { data } = await batch([...pages(1), ...pages(1, { viewport: { width: 800 } })], {
      options: { device: 'iPhone 15' },
    });
    const records = await Promise.all(uuidsOf(data).map((uuid) => holder.record(uuid)));
    expect(records.map(({ options: { viewport, isMobile } }) => [viewport.width, isMobile])).toEqual([
      [393, true],
      [800, true],
    ]);
  });

  test('are refused once, not for each request', async () => {
    const { message } = await refusal(pages(20), { options: { fromat: 'png', quality: 0 } });
    expect(message).toBe(
      'options.fromat is not a field of the request; did you mean options.format?; options.quality must be an integer from 1 to 100, not 0',
    );
  });

  test('must not be large for many requests', async () => {
    const options = { hide: Array.from({ length: 50 }, () => `.${'a'.repeat(900)}`) };
    expect(await refusal(pages(1000), { options })).toMatchObject({
      status: 400,
      message: expect.stringContaining(`at most ${maxSharedBytes} bytes together`) as unknown,
    });
    const { status } = await batch(pages(3), { options });
    expect(status).toBe(200);
  });

  test('cannot add fields by a prototype', async () => {
    const body = '{"requests":[{"__proto__":{"url":"https://example.com/"}}],"options":{"__proto__":{"format":"pdf"}}}';
    const { status, error } = await sendBatch(front, holder.key, body);
    expect(status).toBe(400);
    expect(error?.message).toContain('__proto__ is not a field of the request');
  });
});

describe('an invalid batch is refused as a whole', () => {
  test.for([
    ['no requests', [], 'requests must be a list, not empty, of at most 1000'],
    ['one more than the limit', pages(1001), 'requests must be a list, not empty, of at most 1000'],
    [
      'a field of one request',
      [...pages(2), ...pages(1, { viewport: { width: 15 } })],
      'requests.2.viewport.width must be',
    ],
    ['an unknown field', [...pages(1), { ...pages(1)[0], ulr: '' }], 'requests.1.ulr is not a field of the request'],
    ['a rule of one request', [...pages(1), { format: 'png' }], 'requests.1: one of url and html is required'],
    ['not in the background', pages(1, { background: false }), 'requests.0: background must be true'],
    ['a file as response', pages(1, { responseType: 'file' }), 'requests.0: responseType file needs background false'],
    ['something else', [...pages(1), 'https://example.com'], 'requests.1 must be an object'],
  ] as const)('%s', async ([, requests, message]) => {
    const other = await openHolder(front);
    const refused = await refusal(requests, {}, other.key);
    expect(refused).toMatchObject({ status: 400, code: 'VALIDATION_ERROR' });
    expect(refused.message).toContain(message);
    expect(await other.usage()).toMatchObject({ captures: 0, queued: 0 });
  });

  test('a blocked address', async () => {
    expect(await refusal([...pages(1), { url: 'http://127.0.0.1/' }])).toMatchObject({
      status: 400,
      code: 'URL_BLOCKED',
      message: expect.stringMatching(/^requests\.1: /) as unknown,
    });
  });

  test('a blocked webhook', async () => {
    const webhook = { url: 'http://10.0.0.1/hook' };
    expect(await refusal([...pages(1), ...pages(1, { webhook })])).toMatchObject({
      code: 'URL_BLOCKED',
      message: expect.stringMatching(/^requests\.1: webhook\.url: /) as unknown,
    });
  });

  test('too many values', async () => {
    const hide = Array.from({ length: 60 }, (_, index) => `.a${index}`);
    expect(await refusal(pages(1000, { hide }))).toMatchObject({ message: 'the body has more than 50000 values' });
  });

  test('too large a body', async () => {
    const html = `<p>${'a'.repeat(1_000_000)}`;
    const requests = (count: number) => Array.from({ length: count }, () => ({ html }));
    expect(JSON.stringify(requests(9)).length).toBeGreaterThan(maxBodyBytes);
    expect(await refusal(requests(9))).toMatchObject({ status: 400, message: 'the body is larger than 8 MiB' });
    const { status, data } = await batch(requests(8));
    expect(status).toBe(200);
    expect((await untilBatchEnds(front, holder.key, data.id)).counts.completed).toBe(8);
  });
});

test('a batch of the maximum size is charged once for each capture', { tags: 'long' }, async () => {
  const full = await openHolder(front);
  const { error, data } = await sendBatch(front, full.key, { requests: pages(1000) });
  expect(error).toBeNull();
  expect(data.counts).toMatchObject({ total: 1000, failed: 0 });
  const ended = await untilBatchEnds(front, full.key, data.id);
  expect(ended.counts).toMatchObject({ completed: 1000 });
  expect(await full.usage()).toEqual({ tokens: 1000, captures: 1000, reserved: 0, queued: 0 });
  expect(await full.ledger()).toEqual(await full.sumOfRecords());
});

describe('the limits of the account', () => {
  test('a batch counts as one request of the rate', async () => {
    const slow = await openHolder(front, { ratePerMinute: 1, burst: 2 });
    const send = () => sendBatch(front, slow.key, { requests: pages(50) });
    expect((await send()).status).toBe(200);
    const second = await send();
    expect([second.status, second.headers.get('x-ratelimit-remaining')]).toEqual([200, '0']);
    const third = await send();
    expect(third).toMatchObject({ status: 429, error: { code: 'RATE_LIMIT_EXCEEDED' } });
    expect(third.error?.message).not.toContain('requests.');
    expect(Number(third.headers.get('retry-after'))).toBeGreaterThan(0);
  });

  test.for([
    ['tokens', { tokenQuota: 5 }, 402, 'QUOTA_EXCEEDED'],
    ['queued captures', { maxQueued: 5 }, 429, 'QUEUE_FULL'],
  ] as const)(
    'a batch that exceeds the limit of %s is refused as a whole, and one that reaches it is accepted',
    async ([, limits, status, code]) => {
      const release = holdJobs(front.renderer);
      const poor = await openHolder(front, limits);
      const refused = await sendBatch(front, poor.key, { requests: pages(6) });
      expect(refused).toMatchObject({ status, error: { code } });
      expect(refused.error?.message).toMatch(/^requests\.5: /);
      expect(await poor.usage()).toMatchObject({ reserved: 0, queued: 0 });
      const accepted = await sendBatch(front, poor.key, { requests: pages(5) });
      expect(accepted.status).toBe(200);
      expect((await sendBatch(front, poor.key, { requests: pages(1) })).status).toBe(status);
      release();
      await untilBatchEnds(front, poor.key, accepted.data.id);
      expect(await poor.usage()).toMatchObject({ tokens: 5, reserved: 0, queued: 0 });
    },
  );

  test('tokens of antiBot count', async () => {
    const poor = await openHolder(front, { tokenQuota: 3 });
    const requests = pages(2, { antiBot: true });
    expect(await sendBatch(front, poor.key, { requests })).toMatchObject({ status: 402 });
  });
});

test('requests that the cache answers cost nothing, and show the earlier capture', async () => {
  const cached = { responseCache: { enabled: true } };
  const first = await sendBatch(front, holder.key, { requests: pages(2), options: cached });
  await untilBatchEnds(front, holder.key, first.data.id);
  const poor = await holder.usage();
  const { data } = await until('the cache to answer', async () => {
    const answer = await sendBatch(front, holder.key, { requests: pages(2), options: cached });
    return answer.data.captures.every(({ fromCache }) => fromCache) && answer;
  });
  expect(data).toMatchObject({ status: 'completed', tokensCharged: 0, counts: { total: 2, completed: 2 } });
  expect(uuidsOf(data)).toEqual(uuidsOf(first.data));
  expect((await holder.usage()).tokens).toBe(poor.tokens);
});

test('a batch without a renderer of its region is refused, and leaves nothing', async () => {
  const refused = await batch(pages(3, { region: 'eu-west' }));
  expect(refused).toMatchObject({ status: 500, error: { code: 'REGION_UNAVAILABLE' } });
});

test('captures that cannot be queued fail, and the others are accepted', async () => {
  const { data } = await batch([...pages(1), ...pages(1, { region: 'eu-west' })]);
  const ended = await untilBatchEnds(front, holder.key, data.id);
  expect(ended.counts).toMatchObject({ completed: 1, failed: 1 });
  expect(ended.captures[1]).toMatchObject({ url: null, status: 'failed', error: { code: 'REGION_UNAVAILABLE' } });
});
