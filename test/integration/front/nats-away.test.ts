// @module-tag long
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { StatusHistory } from '@webcapture/shared/api/status-history.ts';
import { type ComponentHistory, historyKey } from '@webcapture/shared/statistics/component-history.ts';
import type { StatusReport } from '@webcapture/shared/api/status.ts';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import { until } from '../../harness/until.ts';
import { read, startTestFront, type TestFront } from './test-front.ts';
import { quietReport } from '../../harness/quiet-report.ts';

let front: TestFront;
beforeAll(async () => {
  front = await startTestFront();
});
afterAll(() => front[Symbol.asyncDispose]());

const url = 'https://example.com/';

test('a capture in progress survives a restart of NATS, even if its reply is lost', async () => {
  // A killed server may forget that it has delivered the job, and deliver it again.
  let restarting: Promise<void> | undefined;
  front.renderer.behavior = async (job, renderer) => {
    await (restarting ??= front.nats.restart());
    await until('the renderer to be connected again', () => renderer.session.connected());
    await renderer.complete(job, { silently: true });
  };
  const { status, body } = await read(await front.capture({ url }));
  expect([status, body.data?.['status']]).toEqual([200, 'completed']);
});

test('after a restart, captures are accepted as soon as the front hears the renderers', async () => {
  front.renderer.behavior = (job, renderer) => renderer.complete(job);
  await front.nats.restart();
  await until('the front to be connected again', async () => (await front.capture({ url })).status === 200);
});

test('the status is the report of the controller', async () => {
  const now = Date.now();
  const lastCheckedAt = new Date(now).toISOString();
  const component = (name: string) => ({ name, status: 'operational', lastCheckedAt }) as const;
  const report: StatusReport = {
    ...quietReport,
    components: ['queue', 'storage', 'engine', 'engine.us-east'].map(component),
    at: now,
  };
  await new Entries(front.nats.session, 'live').put('status', report);
  await until('the status to be served', async () => (await front.call('/status', { key: null })).status === 200);
  const engine = await front.call('/status/engine', { key: null });
  expect([engine.status, await engine.json()]).toEqual([200, component('engine')]);
});

test('the history is that of the controller, without deleted and unknown entries', async () => {
  const db = new Entries(front.nats.session, 'db');
  const now = Date.now();
  const days = [{ date: new Date(now).toISOString().slice(0, 10), ms: [1000, 0, 0, 0] }];
  const entry = (name: string): ComponentHistory => ({
    format: 1,
    name,
    status: 'operational',
    observedUntil: now,
    days,
    incidents: [],
  });
  for (const name of ['queue', 'engine.us-east']) await db.put(historyKey(name), entry(name));
  // The entry has the form that a later version may write.
  await db.put(historyKey('engine'), { ...entry('engine'), format: 2 });
  await until('both to be served', async () => String(await recorded()) === 'queue,engine.us-east');
  await db.delete(historyKey('engine.us-east'));
  await until('one to be served', async () => String(await recorded()) === 'queue');
});

const recorded = async () => {
  const response = await front.call('/status/history.json', { key: null });
  return ((await response.json()) as StatusHistory).components.map(({ name }) => name);
};

test('while NATS is down, requests are refused within seconds, and the status reports it', async () => {
  await front.nats.kill();
  const start = performance.now();
  const [capture, state] = await Promise.all([
    front.capture({ url }).then(read),
    front.call('/captures/01a1fd8a-28f4-7407-b5a7-118e86daadce').then(read),
  ]);
  // Key and limits are retried for 3 s each.
  expect(performance.now() - start).toBeLessThan(8000);
  for (const { status, body } of [capture, state]) {
    expect([status, body.error?.code]).toEqual([500, 'INTERNAL_ERROR']);
    expect(body.error?.message).toContain('again');
  }
  const queue = await until('the queue to be reported', async () => {
    const status = await front.call('/status');
    const { components } = (await status.json()) as { components: { name: string; status: string }[] };
    const found = components.find(({ name }) => name === 'queue');
    return status.status === 503 && found?.status === 'major_outage' ? found : undefined;
  });
  expect(queue).toMatchObject({ message: expect.stringContaining('Unavailable for') });
  // The front stays healthy for load balancers, because no other front has NATS either, and one must report the outage.
  const health = await front.call('/healthz', { key: null });
  expect([health.status, await health.json()]).toEqual([200, { status: 'ok' }]);
  // The status page still works, with current and last known states.
  const page = await (await front.call('/status.html', { key: null })).text();
  expect(page).toMatch(/<h1>Major outage<\/h1><p>Affected: API, Queue/);
  expect(page).toContain('Unavailable for');
  expect(page).toContain('id="days-queue" data-name="queue"><div class="bars"');
  await front.nats.start();
  await until('captures to work again', async () => (await front.capture({ url })).status === 200);
});
