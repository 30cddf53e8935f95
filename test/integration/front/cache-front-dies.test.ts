// @module-tag long
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { Cache } from '@webcapture/shared/captures/cache.ts';
import { ticketOf } from '@webcapture/shared/queue/tickets.ts';
import { freePort } from '../../harness/free-port.ts';
import { startTestNats, type TestNats } from '../../harness/nats-session.ts';
import { ServiceProcess } from '../../harness/service-process.ts';
import { until } from '../../harness/until.ts';
import { StandInRenderer } from '../../harness/stand-in-renderer.ts';
import { read } from './test-front.ts';

const key = 'a-key-for-two-fronts';

/** Every test has its own page, since the fronts remember the pages of the others. */
let body: { url: string; responseCache: { enabled: boolean } };
let nats: TestNats;
let renderer: StandInRenderer;
let fronts: { part: ServiceProcess; url: string }[];

async function startFront(name: string) {
  const port = await freePort();
  const part = await ServiceProcess.prepare(name, 'front', {
    PATH: process.env['PATH'] ?? '',
    PORT: String(port),
    WEBCAPTURE_HOST: '127.0.0.1',
    WEBCAPTURE_NATS_URL: nats.url,
    WEBCAPTURE_REGIONS: 'us-east:1',
    WEBCAPTURE_API_KEY: key,
  });
  await part.start();
  return { part, url: `http://127.0.0.1:${port}` };
}

beforeAll(async () => {
  nats = await startTestNats(['us-east']);
  fronts = await Promise.all([startFront('front-0'), startFront('front-1')]);
});
beforeEach(async ({ task }) => {
  body = { url: `https://example.com/${task.id}`, responseCache: { enabled: true } };
  // A previous test may have killed the front.
  if (fronts[0]?.part.exit !== undefined) await fronts[0].part.start();
  renderer = new StandInRenderer(await nats.connect(), 'us-east');
  await renderer.start();
});
afterEach(() => renderer.stop());
afterAll(async () => {
  await Promise.all(fronts.map(({ part }) => part.stop()));
  await nats[Symbol.asyncDispose]();
});

const ask = (front: number, { headers = {}, body: sent = body }: { headers?: object; body?: object } = {}) =>
  fetch(`${fronts[front]?.url}/capture`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}`, ...headers },
    body: JSON.stringify(sent),
    signal: AbortSignal.timeout(30_000),
  });

test('if the front of the first request is killed, requests on another front get its capture', async () => {
  let finish = () => {};
  const mayFinish = new Promise<void>((resolve) => (finish = resolve));
  renderer.behavior = async (job, self) => {
    await mayFinish;
    await self.complete(job);
  };
  const first = ask(0).catch(() => null);
  await until('the first to be rendered', () => renderer.jobs.length === 1);
  const second = ask(1);
  const [job] = renderer.jobs;
  const name = (job && ticketOf(job).draft?.cache?.name) ?? '';
  // The job is queued, so rendering may take a while.
  const lease = await until('its lease to be extended', async () => {
    const entry = await new Cache(nats.session).get('demo', name);
    return entry.lease !== null && entry.lease.until > Date.now() + 30_000 && entry.lease;
  });
  expect(lease.uuid).toBe(job?.uuid);
  await fronts[0]?.part.kill('SIGKILL');
  expect(await first).toBeNull();
  finish();
  const { status, body: envelope } = await read(await second);
  expect(status).toBe(200);
  expect(envelope.data).toMatchObject({ uuid: renderer.jobs[0]?.uuid, fromCache: true, tokenCost: 0 });
  expect(renderer.jobs).toHaveLength(1);
});

test.each([{}, { responseCache: { enabled: true } }])(
  'if the front is killed, the same Idempotency-Key returns its capture on another front, charged once: %j',
  async (more) => {
    let finish = () => {};
    const mayFinish = new Promise<void>((resolve) => (finish = resolve));
    renderer.behavior = async (job, self) => {
      await mayFinish;
      await self.complete(job);
    };
    const again = { headers: { 'idempotency-key': randomUUID() }, body: { url: body.url, ...more } };
    const first = ask(0, again).catch(() => null);
    await until('the first to be rendered', () => renderer.jobs.length === 1);
    await fronts[0]?.part.kill('SIGKILL');
    expect(await first).toBeNull();
    const second = ask(1, again);
    finish();
    const response = await second;
    expect([response.status, response.headers.get('idempotent-replayed')]).toEqual([200, 'true']);
    const { body: envelope } = await read(response);
    expect(envelope.data).toMatchObject({ uuid: renderer.jobs[0]?.uuid, fromCache: false, tokenCost: 1 });
    expect(renderer.jobs).toHaveLength(1);
  },
);

test('if NATS restarts meanwhile, one capture answers both requests, and later requests are hits', async () => {
  let restarting: Promise<void> | undefined;
  renderer.behavior = async (job, self) => {
    await (restarting ??= nats.restart());
    await until('the renderer to be connected again', () => self.session.connected());
    await self.complete(job, { silently: true });
  };
  const first = ask(0);
  await until('the first to be rendered', () => renderer.jobs.length === 1);
  const answers = await Promise.all([first, ask(1)].map(async (response) => read(await response)));
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  expect(new Set(answers.map(({ body: { data } }) => data?.['uuid'])).size).toBe(1);
  expect((await read(await ask(1))).body.data).toMatchObject({ fromCache: true });
  // A killed server may forget that it has delivered a job, and deliver it again.
  expect(new Set(renderer.jobs.map(({ uuid }) => uuid)).size).toBe(1);
});
