import { randomUUIDv7 } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Registry } from 'prom-client';
import { captureJobVersion, type CaptureJob } from '@webcapture/shared/contract/capture-job.ts';
import { ServiceError } from '@webcapture/shared/errors/service-error.ts';
import type { PulledMessage } from '@webcapture/shared/nats/pulled-message.ts';
import { answers, Cache } from '@webcapture/shared/state/cache.ts';
import { Captures } from '@webcapture/shared/state/captures.ts';
import { remove } from '@webcapture/shared/state/transitions.ts';
import { newFileName } from '@webcapture/shared/storage/file-name.ts';
import { EmbeddedStore } from '@webcapture/shared/storage/embedded-store.ts';
import type { RenderEngine } from '../../../services/renderer/capture/engine.ts';
import { createRendererMetrics } from '../../../services/renderer/job/metrics.ts';
import { runJob, type JobDeps, type JobEnd } from '../../../services/renderer/job/run-job.ts';
import { silentLog, startTestNats, type TestNats } from '../../harness/nats-session.ts';
import { defaultOptions, newRecord, plainReport } from '../../harness/records.ts';

let nats: TestNats;
beforeAll(async () => {
  nats = await startTestNats(['us-east']);
});
afterAll(() => nats[Symbol.asyncDispose]());

const account = 'a';

/** A capture that leads, queued; `run` gives its job to a renderer whose engine does as told. */
async function lead(name: string, waitMs = 60_000) {
  const [captures, cache] = [new Captures(nats.session), new Cache(nats.session)];
  const uuid = randomUUIDv7();
  const acceptedAt = Date.now();
  const [fileName, deadline] = [newFileName(uuid, 'png'), acceptedAt + waitMs];
  const viewport = { width: 16, height: 16, deviceScaleFactor: 1 };
  await cache.claim(account, name, { uuid, until: deadline }, { maxAge: 60 });
  await captures.create(
    newRecord({ uuid, account, fileName, acceptedAt, startBy: deadline, deadline, lifetimeMs: 100_000 }),
  );
  const job = {
    version: captureJobVersion,
    uuid,
    revision: 0,
    account,
    region: 'us-east',
    lane: 'interactive',
    acceptedAt,
    startBy: deadline,
    deadline,
    wantsBytes: false,
    fileName,
    source: { kind: 'url', url: 'https://example.com/' },
    options: { ...defaultOptions, viewport },
    cache: { name, ttl: 60 },
  } satisfies CaptureJob;
  const run = async (render: RenderEngine['render'], deps: Partial<JobDeps> = {}, ack?: () => Promise<void>) => {
    const ended: string[] = [];
    const message = {
      subject: '',
      data: Buffer.from(JSON.stringify(job)),
      delivery: 1,
      sequence: 1,
      working: () => undefined,
      ack: ack ?? (async () => void ended.push('ack')),
      handBack: () => void ended.push('hand back'),
      terminate: () => void ended.push('terminate'),
    } satisfies PulledMessage;
    await runJob(message, new AbortController().signal, {
      engine: { render } as RenderEngine,
      captures,
      cache,
      followUps: { arrange: async () => undefined },
      store: new EmbeddedStore(nats.session),
      takeHtml: async () => '',
      dropHtml: async () => undefined,
      announce: () => undefined,
      onEnd: () => undefined,
      log: silentLog,
      ...deps,
    });
    return ended;
  };
  return { uuid, captures, cache, run };
}

const picture: RenderEngine['render'] = async () => ({
  bytes: Buffer.from('a picture'),
  mimeType: 'image/png',
  width: 16,
  height: 16,
  report: plainReport,
});

test('a capture that completes answers from the cache by the time that it is announced', async () => {
  const { uuid, cache, run } = await lead('completes');
  let atAnnouncement: Promise<unknown> = Promise.resolve();
  expect(await run(picture, { announce: () => void (atAnnouncement = cache.get(account, 'completes')) })).toEqual([
    'ack',
  ]);
  expect(await atAnnouncement).toMatchObject({ done: { record: { uuid, status: 'completed' } }, claim: null });
});

test('a capture that fails gives its claim up', async () => {
  const { uuid, captures, cache, run } = await lead('fails');
  const failing = () => Promise.reject(new ServiceError('NAVIGATION_FAILED'));
  expect(await run(failing)).toEqual(['ack']);
  expect((await captures.get(account, uuid))?.value.status).toBe('failed');
  expect(await cache.get(account, 'fails')).toEqual({ done: null, claim: null });
});

test('a job that is delivered again after its renderer died between record and cache fills the cache', async () => {
  const { uuid, cache, run } = await lead('again');
  const broken = {
    fill: () => Promise.reject(new Error('away')),
    release: async () => undefined,
    drop: async () => undefined,
  };
  expect(await run(picture, { cache: broken })).toEqual(['ack']);
  expect((await cache.get(account, 'again')).claim?.uuid).toBe(uuid);
  expect(await run(() => Promise.reject(new Error('rendered twice')))).toEqual(['ack']);
  expect(answers(await cache.get(account, 'again'), 60, Date.now())?.uuid).toBe(uuid);
});

test('each end is counted with its outcome and its cost, also that of a capture whose time had passed', async () => {
  const registry = new Registry();
  const renderer = { region: 'us-east', slots: 1, busy: () => 0, browserUp: () => true } as const;
  const metrics = createRendererMetrics(registry, renderer);
  const count = { onEnd: (end: JobEnd) => metrics.ended(end) };
  await (await lead('counted')).run(picture, count);
  await (await lead('counted-failure')).run(() => Promise.reject(new ServiceError('NAVIGATION_FAILED')), count);
  await (await lead('counted-late', -1000)).run(picture, count);
  const gone = await lead('counted-by-another', -1000);
  await gone.captures.fail(
    { account, uuid: gone.uuid },
    { code: 'CAPTURE_FAILED', message: 'it was ended by another' },
  );
  await gone.run(picture, count);
  const text = await registry.metrics();
  for (const outcome of ['completed', 'NAVIGATION_FAILED', 'CAPTURE_TIMEOUT']) {
    expect(text).toMatch(new RegExp(`captures_total{region="us-east",format="png",outcome="${outcome}"} 1$`, 'm'));
  }
  expect(text).toMatch(/^webcapture_renderer_tokens_total.* 1$/m);
  expect(text).toMatch(/^webcapture_renderer_render_seconds_count.* 2$/m);
  expect(text).toMatch(/^webcapture_renderer_queue_wait_seconds_count{region="us-east",lane="interactive"} 2$/m);
});

test('a background capture has a day to begin, but not to be rendered', async () => {
  const { run } = await lead('long', 86_400_000);
  let deadline = 0;
  await run(async (work) => {
    ({ deadline } = work);
    return picture(work);
  });
  expect(deadline).toBeGreaterThan(Date.now());
  expect(deadline).toBeLessThan(Date.now() + 100_000);
});

test('a capture that is deleted before it is in the cache leaves nothing there', async () => {
  const { uuid, captures, cache, run } = await lead('deleted');
  const late: JobDeps['cache'] = {
    fill: async (...filling) => {
      await captures.change({ account, uuid }, remove);
      await cache.drop(account, 'deleted', uuid);
      return cache.fill(...filling);
    },
    release: (...releasing) => cache.release(...releasing),
    drop: (...dropping) => cache.drop(...dropping),
  };
  expect(await run(picture, { cache: late })).toEqual(['ack']);
  expect((await captures.get(account, uuid))?.value.status).toBe('deleted');
  expect(answers(await cache.get(account, 'deleted'), 60, Date.now())).toBeNull();
});

test('an acknowledgement that the server never answers holds its slot for seconds, not until the deadline', async () => {
  const { uuid, captures, run } = await lead('unanswered');
  // What a killed server makes of a delivery that it had not yet written down.
  const subject = `$JS.ACK.CAPTURES.us-east-interactive.1.999999.999999.${Date.now()}000000.0`;
  const ack = async () => void (await nats.session.nc.request(subject, '+ACK', { timeout: 500 }));
  await expect(ack()).rejects.toThrow(/timeout/i);
  const start = performance.now();
  await run(picture, {}, ack);
  expect(performance.now() - start).toBeLessThan(10_000);
  expect((await captures.get(account, uuid))?.value.status).toBe('completed');
});

test('a late capture neither replaces a newer one nor takes the claim of another', async () => {
  const [older, newer, next] = [await lead('late'), randomUUIDv7(), randomUUIDv7()];
  await older.run(picture);
  const record = (await older.captures.get(account, older.uuid))?.value;
  if (record?.outcome === undefined) throw new Error('it has not completed');
  const { cache } = older;
  const later = { ...record, uuid: newer, outcome: { ...record.outcome, capturedAt: record.outcome.capturedAt + 1 } };
  await cache.fill(account, { name: 'late', ttl: 60 }, later);
  await cache.claim(account, 'late', { uuid: next, until: Date.now() + 60_000 }, { maxAge: -1 });
  await cache.fill(account, { name: 'late', ttl: 60 }, record);
  expect(await cache.get(account, 'late')).toMatchObject({ done: { record: { uuid: newer } }, claim: { uuid: next } });
  await cache.release(account, 'late', older.uuid);
  expect((await cache.get(account, 'late')).claim?.uuid).toBe(next);
});

test('of many claims at once one holds, and it lapses at its time', async () => {
  const caches = await Promise.all(Array.from({ length: 4 }, async () => new Cache(await nats.connect())));
  const claims = Array.from({ length: 40 }, () => ({ uuid: randomUUIDv7(), until: Date.now() + 60_000 }));
  const entries = await Promise.all(
    claims.map(async (claim, n) => caches[n % 4]?.claim(account, 'many', claim, { maxAge: 60 })),
  );
  expect(new Set(entries.map((entry) => entry?.claim?.uuid)).size).toBe(1);
  const later = { uuid: randomUUIDv7(), until: Date.now() + 120_000 };
  const entry = await caches[0]?.claim(account, 'many', later, { maxAge: 60 }, Date.now() + 61_000);
  expect(entry?.claim?.uuid).toBe(later.uuid);
});
