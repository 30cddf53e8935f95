// @module-tag long
import { describe, expect, test } from 'vitest';
import { peak } from '../harness/site/site.ts';
import { stripeColor } from '../harness/site/pages/tall-pages.ts';
import { until } from '../harness/until.ts';
import { useFleet, useSite } from '../harness/use.ts';

const fleet = useFleet({ slots: 2, fronts: 2 });
const site = useSite();

const queueEmpty = () => until('the queue to be empty', async () => (await fleet().usageCheck.queued()) === 0);

describe('ten captures at once on two slots', () => {
  test('are correct, and at most two are rendered at the same time', async () => {
    const { api, usageCheck, urls } = fleet();
    const before = await usageCheck.usage();
    const visits = Array.from({ length: 10 }, (_, index) =>
      site().visit('/images', { list: 'slow:400', title: `page ${index}` }),
    );
    const captures = visits.map((visit, index) =>
      api.picture(
        { url: visit.url, viewport: { width: 300 + index, height: 200 } },
        { base: urls[index % urls.length] ?? '' },
      ),
    );
    const results = await Promise.all(captures);
    for (const [index, { data, picture }] of results.entries()) {
      expect(data.report.title).toBe(`page ${index}`);
      expect(picture.size).toBe(`${300 + index}x200`);
      expect(picture.at(50, 50)).toBe('#0000ff');
    }
    expect(new Set(results.map(({ data }) => data.uuid)).size).toBe(10);
    expect(peak(visits.flatMap((visit) => visit.seen('/asset/image')))).toBe(2);
    for (const visit of visits) expect(visit.seen('/images')).toHaveLength(1);
    const after = await usageCheck.usage();
    expect(after.tokens - before.tokens).toBe(10);
    await queueEmpty();
  });

  test('of every kind', async () => {
    const { api } = fleet();
    const kinds = Array.from({ length: 10 }, (_, index) => ({
      url: site().url('/tall', { h: 1000 + index * 100 }),
      format: (['png', 'jpeg', 'webp'] as const)[index % 3],
      isFullPage: true,
      antiBot: index % 5 === 0,
    }));
    const results = await Promise.all(kinds.map((kind) => api.picture(kind)));
    for (const [index, { picture }] of results.entries()) {
      expect(picture.size).toBe(`1280x${1000 + index * 100}`);
      expect(picture.difference(640, 950, stripeColor(9))).toBeLessThanOrEqual(8);
    }
  });
});

test('waiting in the queue does not count towards the timeout of the page', async () => {
  const { api, usageCheck } = fleet();
  const held = [site().visit('/held'), site().visit('/held')];
  const busy = held.map((visit) => api.captured({ url: visit.url }));
  await Promise.all(held.map((visit, index) => visit.underWay(busy[index] ?? Promise.reject(new Error('no capture')))));
  const waiting = api.captured({ url: site().url('/slow', { delay: 1000 }), timeout: 5000 });
  await until('the job to be queued', async () => (await usageCheck.queued()) >= 3);
  await new Promise((resolve) => setTimeout(resolve, 5500));
  for (const visit of held) visit.release();
  const data = await waiting;
  expect(data.report.timings.queueMs).toBeGreaterThan(5000);
  expect(data.report.softTimeouts).toEqual([]);
  await Promise.all(busy);
});

describe('a client that disconnects', () => {
  test('while its capture waits: the capture is not rendered, and not charged', async () => {
    const { api, usageCheck } = fleet();
    const before = await usageCheck.usage();
    const held = [site().visit('/held'), site().visit('/held')];
    const busy = held.map((visit) => api.captured({ url: visit.url }));
    await Promise.all(
      held.map((visit, index) => visit.underWay(busy[index] ?? Promise.reject(new Error('no capture')))),
    );

    const given = new AbortController();
    const unwanted = site().visit('/color');
    const gone = api.capture({ url: unwanted.url }, { signal: given.signal }).then(
      () => 'answered',
      (error: Error) => error.name,
    );
    await until('the job to be queued', async () => (await usageCheck.queued()) >= 3);
    given.abort();
    expect(await gone).toBe('AbortError');
    const record = await until('its record to show the cancellation', async () =>
      (await usageCheck.records()).find(({ url, status }) => url === unwanted.url && status === 'failed'),
    );
    expect(record.failure?.code).toBeDefined();
    for (const visit of held) visit.release();
    await Promise.all(busy);
    await queueEmpty();
    expect(unwanted.requests).toEqual([]);
    expect((await usageCheck.usage()).tokens - before.tokens).toBe(2);
  });

  test('during the rendering: the capture completes and is charged, and leaves nothing behind', async () => {
    const { api, usageCheck } = fleet();
    const before = await usageCheck.usage();
    const given = new AbortController();
    const visit = site().visit('/held');
    const gone = api.capture({ url: visit.url }, { signal: given.signal }).catch((error: Error) => error.name);
    await visit.underWay(gone);
    given.abort();
    expect(await gone).toBe('AbortError');
    visit.release();
    const record = await until('its record to be closed', async () =>
      (await usageCheck.records()).find(
        ({ url, status }) => url === visit.url && status !== 'queued' && status !== 'rendering',
      ),
    );
    expect(record.status).toBe('completed');
    await queueEmpty();
    expect((await usageCheck.usage()).tokens - before.tokens).toBe(1);
    const { picture } = await api.picture({ url: site().url('/color') });
    expect(picture.share('#00ff00')).toBe(1);
  });
});

test('equal concurrent and later requests on two fronts load the page once and are charged once', async () => {
  const visit = site().visit('/slow', { delay: 500 });
  const body = { url: visit.url, responseCache: { enabled: true }, viewport: { width: 300, height: 200 } };
  const { api, url: first, urls: bases } = fleet();
  const data = await Promise.all(
    Array.from({ length: 10 }, (_, n) => api.captured(body, { base: bases[n % 2] ?? first })),
  );
  expect(new Set(data.map(({ uuid }) => uuid)).size).toBe(1);
  expect(data.reduce((sum, { tokenCost }) => sum + tokenCost, 0)).toBe(1);
  const later = await api.captureWithFile(body, { base: bases[1] ?? first });
  expect(later.data).toMatchObject({ uuid: data[0]?.uuid, fromCache: true, tokenCost: 0 });
  const file = await api.capture({ ...body, responseType: 'file' });
  expect(file.bytes.equals(later.bytes)).toBe(true);
  expect(visit.seen('/slow')).toHaveLength(1);
  expect(await api.captured({ ...body, viewport: { width: 301, height: 200 } })).toMatchObject({
    fromCache: false,
  });
  expect(visit.seen('/slow')).toHaveLength(2);
});

test('the usage of the account is the sum of the costs of its completed captures, and every file exists', async () => {
  const { api, usageCheck } = fleet();
  const records = await usageCheck.records();
  const completed = records.filter(({ status }) => status === 'completed');
  expect(completed.length).toBeGreaterThan(20);
  const tokens = completed.reduce((sum, { tokenCost }) => sum + tokenCost, 0);
  expect(await usageCheck.usage()).toMatchObject({ tokens, captures: completed.length });
  const charged = await Promise.all(fleet().fronts.map((front) => front.metric('webcapture_front_tokens_total')));
  expect(charged.reduce<number>((sum, count = 0) => sum + count, 0)).toBe(tokens);
  for (const { fileName, outcome } of completed) {
    const response = await api.request(`/files/${fileName}`);
    expect((await response.arrayBuffer()).byteLength).toBe(outcome?.fileSizeBytes);
  }
  expect(records.filter(({ status }) => status === 'queued' || status === 'rendering')).toEqual([]);
});
