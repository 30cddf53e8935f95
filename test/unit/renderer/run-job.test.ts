import { randomUUID, randomUUIDv7 } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { Registry } from 'prom-client';
import { ServiceError } from '@webcapture/shared/errors/service-error.ts';
import type { ErrorCode } from '@webcapture/shared/errors/table.ts';
import { connectNats, type NatsSession } from '@webcapture/shared/nats/connect.ts';
import type { PulledMessage } from '@webcapture/shared/nats/pulled-message.ts';
import {
  captureDurable,
  captureSubject,
  jobAckWaitMs,
  jobMaxDeliveries,
  signalSubject,
  streamNames,
} from '@webcapture/shared/nats/streams.ts';
import { jobOf } from '@webcapture/shared/state/job-of.ts';
import { decodeReply, renderFailures, type JobOutcome } from '@webcapture/shared/state/results.ts';
import { ticketOf } from '@webcapture/shared/state/tickets.ts';
import { EmbeddedStore } from '@webcapture/shared/storage/embedded-store.ts';
import { EmbeddedUploader } from '@webcapture/shared/storage/embedded-uploader.ts';
import type { NewFile } from '@webcapture/shared/storage/file-store.ts';
import { putHtml } from '@webcapture/shared/storage/html-parcel.ts';
import { BrowserLostError } from '../../../services/renderer/browser/page.ts';
import type { RenderEngine } from '../../../services/renderer/page/engine.ts';
import { createRendererMetrics } from '../../../services/renderer/worker/metrics.ts';
import { ResultPublisher } from '../../../services/renderer/worker/publish-result.ts';
import { runJob, type JobDeps } from '../../../services/renderer/worker/run-job.ts';
import { silentLog, startTestNats, type TestNats } from '../../harness/nats-session.ts';
import { newRecord, plainReport } from '../../harness/records.ts';
import { until } from '../../harness/until.ts';
import { StallingProxy } from '../shared/support/stalling-proxy.ts';
import {
  messagesOf,
  picture,
  rendersIn,
  TestQueue,
  TestRenderer,
  type TestRendererOptions,
} from './support/renderer.ts';

let nats: TestNats;
let queue: TestQueue;
beforeAll(async () => {
  nats = await startTestNats(['us-east']);
  queue = new TestQueue(nats.session);
});
afterAll(() => nats[Symbol.asyncDispose]());

const renderers: TestRenderer[] = [];
const sessions: NatsSession[] = [];
beforeEach(async () => {
  await nats.session.jsm.streams.purge(streamNames.captures);
  await nats.session.jsm.streams.purge(streamNames.results);
});
afterEach(async () => {
  vi.restoreAllMocks();
  await Promise.all(renderers.splice(0).map((renderer) => renderer.stop()));
  await Promise.all(sessions.splice(0).map(({ nc }) => nc.close()));
});

async function connect(url = nats.url): Promise<NatsSession> {
  const session = await connectNats({ url, name: 'renderer', log: silentLog, signal: AbortSignal.timeout(30_000) });
  sessions.push(session);
  return session;
}

/** A renderer with a connection of its own. */
async function start(options: TestRendererOptions = {}, session?: NatsSession): Promise<TestRenderer> {
  const renderer = new TestRenderer(session ?? (await connect()), options);
  renderers.push(renderer);
  return renderer;
}

/** Has interactive jobs delivered again after less time than in earnest, for the rest of a test. */
async function shortenAckWait(ms: number): Promise<AsyncDisposable> {
  const set = (value: number) =>
    nats.session.jsm.consumers.update(streamNames.captures, captureDurable('us-east', 'interactive'), {
      ack_wait: value * 1e6,
    });
  await set(ms);
  return {
    async [Symbol.asyncDispose]() {
      await set(jobAckWaitMs);
    },
  };
}

const settled = (count: number) =>
  until(`${count} results`, async () => {
    const outcomes = await queue.outcomes();
    return outcomes.length === count && (await queue.queued()) === 0 ? outcomes : undefined;
  });

const failing =
  (error: unknown): RenderEngine['render'] =>
  () =>
    Promise.reject(error);

/** Hears what a front hears. */
function listen(subject = `replies.us-east.front.${randomUUID()}`) {
  const heard: { outcome: JobOutcome; bytes: Buffer | null; data: string }[] = [];
  nats.session.nc.subscribe(subject, {
    callback: (_, message) => {
      const reply = decodeReply(message.data);
      if (reply === null) throw new Error('not a reply');
      heard.push({ outcome: reply.result.outcome, bytes: reply.bytes, data: message.string() });
    },
  });
  return { subject, heard };
}

test('a job ends with a file that can be put in place, one result, and the reply with the bytes', async () => {
  const { subject, heard } = listen();
  await nats.session.nc.flush();
  const made = picture(600_000);
  const renderer = await start({ render: async () => made });
  const job = await queue.publish({ persistence: { refreshIntervalMs: 0 } }, { reply: { subject, wants: 'bytes' } });
  const [outcome] = await settled(1);
  expect(outcome).toMatchObject({ kind: 'completed', report: { title: plainReport.title }, upload: { width: 1280 } });
  if (outcome?.kind !== 'completed') throw new Error('it has not completed');
  const [result] = await queue.results();
  expect(result).toMatchObject({ pod: 'pod', delivery: 1 });
  expect(ticketOf({ ticket: result?.ticket ?? '' })).toEqual(job.ticket);
  // What may be replaced is not for caches to keep.
  expect(outcome.upload.cacheSeconds).toBe(300);
  const { file } = await new EmbeddedStore(nats.session).accept(outcome.upload, {
    name: job.file.object,
    object: job.file.object,
    account: job.account,
    region: 'us-east',
    contentType: 'image/png',
    expiresAt: outcome.upload.expiresAt,
    cacheSeconds: 300,
    isRefresh: false,
  });
  expect(file.size).toBe(600_000);
  await until('the reply', () => heard.length === 1);
  expect(heard[0]?.outcome.kind).toBe('completed');
  expect(heard[0]?.bytes?.equals(made.bytes)).toBe(true);
  await until('it to be counted', () => renderer.ended.length === 1);
  expect(renderer.ended[0]).toMatchObject({ failure: null, job: { uuid: job.uuid } });
});

test('the file of a refresh is for the time that the record says', async () => {
  const files: NewFile[] = [];
  const session = await connect();
  const real = new EmbeddedUploader(session);
  const uploader = { upload: (file: NewFile) => (files.push(file), real.upload(file)) };
  await start({ uploader }, session);
  const record = newRecord({ expiresAt: Date.now() + 5_000_000 });
  const { startBy, deadline, region, acceptedAt } = record;
  const refresh = { revision: 1, by: 'request', state: 'queued', region, acceptedAt, startBy, deadline } as const;
  const job = jobOf({ ...record, status: 'completed', refresh }, 1);
  await queue.jobs.publish(job);
  await settled(1);
  expect(files[0]).toMatchObject({ object: job.file.object, expiresAt: record.expiresAt, cacheSeconds: 300 });
  expect(job.file.object).not.toBe(record.fileName);
  await queue.publish({ lifetimeMs: 7_000_000 });
  await settled(2);
  expect(Math.abs((files[1]?.expiresAt ?? 0) - Date.now() - 7_000_000)).toBeLessThan(60_000);
  expect(files[1]).not.toHaveProperty('cacheSeconds');
});

describe('the result', () => {
  test.each([
    ...renderFailures.map((code) => [code, code] as const),
    ['QUEUE_FULL', 'INTERNAL_ERROR'] as const,
  ] satisfies (readonly [ErrorCode, ErrorCode])[])('of %s is %s, and whoever waits is told', async (thrown, told) => {
    const { subject, heard } = listen();
    await nats.session.nc.flush();
    const renderer = await start({
      render: failing(new ServiceError(thrown, 'a reason', { cause: new Error('secret') })),
    });
    await queue.publish({}, { reply: { subject, wants: 'bytes' } });
    expect(await settled(1)).toEqual([{ kind: 'failed', code: told, message: 'a reason' }]);
    await until('the reply', () => heard.length === 1);
    expect(heard[0]?.outcome).toMatchObject({ kind: 'failed', code: told });
    expect(heard[0]?.data).not.toContain('secret');
    await until('it to be counted', () => renderer.ended[0]?.failure === told);
  });

  test('of what nobody has thought of is an internal error that tells nothing', async () => {
    await start({ render: failing(new TypeError('the path /etc/shadow')) });
    await queue.publish();
    const [outcome] = await settled(1);
    expect(outcome).toMatchObject({ kind: 'failed', code: 'INTERNAL_ERROR' });
    expect(JSON.stringify(outcome)).not.toContain('shadow');
  });

  test('can be read by fronts however long the address of the page and the reason are', async () => {
    const long = `https://example.com/${'a'.repeat(300_000)}`;
    const rendering = picture();
    let turn = 0;
    await start({
      render: async () => {
        if (++turn === 1) return { ...rendering, report: { ...plainReport, finalUrl: long } };
        throw new ServiceError('NAVIGATION_FAILED', `No such host: ${long}`);
      },
    });
    await queue.publish();
    await settled(1);
    await queue.publish();
    expect((await settled(2)).map(({ kind }) => kind)).toEqual(['completed', 'failed']);
  });

  test('of a store that does not take the file is that', async () => {
    const broken = Promise.reject(new ServiceError('STORAGE_FAILED'));
    broken.catch(() => undefined);
    await start({ uploader: { upload: () => ({ sent: broken, stored: broken }) } });
    await queue.publish();
    expect(await settled(1)).toMatchObject([{ kind: 'failed', code: 'STORAGE_FAILED' }]);
  });

  test('is there before the job is acknowledged, and only once when the acknowledgement was lost', async () => {
    await using _ = await shortenAckWait(2000);
    const proxy = await StallingProxy.to(nats.url);
    const session = await connect(proxy.url);
    let queued = 0;
    let hasRendered = false;
    class Cut extends ResultPublisher {
      override async publish(...args: Parameters<ResultPublisher['publish']>): Promise<void> {
        await super.publish(...args);
        queued = await queue.queued();
        proxy.lose();
      }
    }
    const render = async () => {
      hasRendered = true;
      return picture();
    };
    // It asks for no other job.
    const first = await start({ render, ready: () => !hasRendered, results: new Cut(session, 'pod') }, session);
    await queue.publish();
    await until('the result', async () => queued === 1 && (await queue.results()).length === 1);
    first.source.close();
    const second = await start();
    await until('the job to be done by another one', async () => (await queue.queued()) === 0);
    expect(second.taken[0]?.delivery).toBe(2);
    expect(second.rendered[0]?.ownBrowser).toBe(true);
    expect(await queue.results()).toHaveLength(1);
    proxy.release();
    proxy[Symbol.dispose]();
  });

  test('is told as it stands although the first reply could not be sent', async () => {
    const session = await connect();
    await start({}, session);
    const publish = session.nc.publish.bind(session.nc);
    vi.spyOn(session.nc, 'publish').mockImplementation((subject, ...rest) => {
      if (subject.startsWith('replies.')) throw new Error('no connection');
      publish(subject, ...rest);
    });
    await queue.publish({}, { reply: { subject: 'replies.us-east.front.x', wants: 'bytes' } });
    expect(await settled(1)).toMatchObject([{ kind: 'completed' }]);
  });
});

describe('a browser that is lost', () => {
  const lost = new ServiceError('CAPTURE_FAILED', 'The browser went away.', { cause: new BrowserLostError() });

  test('has the capture rendered again in one of its own, which counts as a delivery', async () => {
    let turn = 0;
    const renderer = await start({ render: () => (++turn === 1 ? Promise.reject(lost) : Promise.resolve(picture())) });
    await queue.publish();
    expect(await settled(1)).toMatchObject([{ kind: 'completed' }]);
    expect(renderer.rendered.map(({ ownBrowser }) => ownBrowser)).toEqual([false, true]);
    expect(renderer.taken.map(({ delivery }) => delivery)).toEqual([1, 2]);
    expect(renderer.ended).toHaveLength(1);
  });

  test('each time is a failure at the last delivery', async () => {
    const renderer = await start({ render: failing(lost) });
    await queue.publish();
    expect(await settled(1)).toMatchObject([{ kind: 'failed', code: 'CAPTURE_FAILED' }]);
    expect(renderer.taken.map(({ delivery }) => delivery)).toEqual([1, 2, 3].slice(0, jobMaxDeliveries));
  });
});

describe('a job is given back', () => {
  const subject = captureSubject('us-east', 'interactive');

  test('when the renderer stops before it has ended, without using up a delivery', async () => {
    const renderer = await start({ render: rendersIn(60_000) });
    const job = await queue.publish({ lane: 'background' });
    await until('it to be rendered', () => renderer.rendered.length === 1);
    await renderer.stop(100);
    expect(await settled(1)).toEqual([{ kind: 'returned', reason: 'shutting_down' }]);
    // As a front queues it again.
    await queue.jobs.publish(job, { attempt: '2' });
    const next = await start();
    await settled(2);
    expect(next.taken[0]?.delivery).toBe(1);
  });

  test('when its version is not known', async () => {
    const renderer = await start();
    const job = { version: 99, uuid: randomUUIDv7(), revision: 0, region: 'us-east', ticket: 'a.b' };
    await nats.session.js.publish(subject, JSON.stringify(job));
    expect(await settled(1)).toEqual([{ kind: 'returned', reason: 'unknown_version' }]);
    expect((await queue.results())[0]?.ticket).toBe('a.b');
    expect(renderer.rendered).toHaveLength(0);
  });

  test('with a delay when it is of version 0.1, which had no tickets', async () => {
    const renderer = await start();
    await nats.session.js.publish(subject, JSON.stringify({ version: 1, uuid: randomUUIDv7(), revision: 0 }));
    await until('it to come', () => renderer.taken.length === 1);
    const start0 = performance.now();
    await until('it to come again', () => renderer.taken.length === 2);
    expect(performance.now() - start0).toBeGreaterThan(4000);
    expect(await queue.results()).toEqual([]);
    expect(renderer.rendered).toHaveLength(0);
  });

  test.each(['no json', 'null', '[]', '{"version":2}'])('but not %s, which is never delivered again', async (data) => {
    const renderer = await start();
    const before = (await messagesOf(nats.session, streamNames.dead)).length;
    await nats.session.js.publish(subject, data);
    await until('it to be terminated', async () => (await messagesOf(nats.session, streamNames.dead)).length > before);
    expect(renderer.taken).toHaveLength(1);
    expect((await queue.interactive()).num_ack_pending).toBe(0);
    expect(await queue.results()).toEqual([]);
  });
});

describe('a job whose time to begin has passed', () => {
  const late = () => {
    const acceptedAt = Date.now() - 61_000;
    return { acceptedAt, startBy: acceptedAt + 60_000, deadline: acceptedAt + 153_000 };
  };

  test('is not rendered when the clock of the server is known', async () => {
    const session = await connect();
    session.clock.learn(Date.now());
    const renderer = await start({}, session);
    await queue.publish(late());
    expect(await settled(1)).toMatchObject([{ kind: 'failed', code: 'CAPTURE_TIMEOUT' }]);
    expect(renderer.rendered).toHaveLength(0);
    await until('it to be counted', () => renderer.ended[0]?.renderMs === null);
  });

  test('is rendered when it is not known: whoever waits ends it', async () => {
    const renderer = await start();
    await queue.publish(late());
    expect(await settled(1)).toMatchObject([{ kind: 'completed' }]);
    expect(renderer.rendered).toHaveLength(1);
  });

  test('is rendered when another renderer had begun with it', async () => {
    const session = await connect();
    session.clock.learn(Date.now());
    const deps = { deliveries: 0 };
    await start({ render: async () => (++deps.deliveries, picture()) }, session);
    const uuid = randomUUIDv7();
    const job = jobOf(newRecord({ uuid, ...late() }));
    await runJob(delivered({ ...job, ticket: 'a.b' }, 2), new AbortController().signal, depsOf(session)).done;
    expect(await queue.outcomes()).toMatchObject([{ kind: 'completed' }]);
  });
});

/** A message that was delivered, with nothing behind it. */
function delivered(job: object, delivery = 1, changes: Partial<PulledMessage> = {}): PulledMessage {
  return {
    subject: '',
    data: Buffer.from(JSON.stringify(job)),
    delivery,
    sequence: 1,
    consumer: 'us-east-interactive',
    consumerSequence: 1,
    timestamp: Date.now(),
    pending: 0,
    working: () => undefined,
    ack: () => Promise.resolve(),
    handBack: () => undefined,
    terminate: () => undefined,
    ...changes,
  };
}

const depsOf = (session: NatsSession, changes: Partial<JobDeps> = {}): JobDeps => ({
  engine: { render: async () => picture() } as unknown as RenderEngine,
  uploader: new EmbeddedUploader(session, session.now),
  results: new ResultPublisher(session, 'pod'),
  takeHtml: async () => '',
  clock: session.clock,
  onEnd: () => undefined,
  log: silentLog,
  ...changes,
});

describe.each([60_000, -60_000])('a pod whose clock is %i ms ahead', (aheadMs) => {
  test.each(['heard of the time', 'not heard of it yet'])('renders as any other when it has %s', async (heard) => {
    const now = Date.now.bind(Date);
    const at = now();
    const job = jobOf(
      newRecord({ acceptedAt: at, startBy: at + 20_000, deadline: at + 120_000, lifetimeMs: 3_600_000 }),
    );
    vi.spyOn(Date, 'now').mockImplementation(() => now() + aheadMs);
    const session = await connect();
    const renderer = await start({}, session);
    if (heard === 'heard of the time') {
      await session.nc.flush();
      nats.session.nc.publish(signalSubject('us-east'), JSON.stringify({ shards: [], now: now() }));
      await until('the time', () => session.clock.isKnown);
    }
    await queue.jobs.publish(job, { deadline: nats.session.now() + 10_000 });
    const [outcome] = await settled(1);
    expect(outcome).toMatchObject({ kind: 'completed', ageMs: expect.any(Number) });
    const [request] = renderer.rendered;
    const leftMs = (request?.deadline ?? 0) - Date.now();
    expect(leftMs).toBeGreaterThan(60_000);
    expect(leftMs).toBeLessThan(130_000);
    await until('it to be counted', () => renderer.ended.length === 1);
    expect(renderer.ended[0]?.queueMs).toBeLessThan(15_000);
    const expiresAt = outcome?.kind === 'completed' ? outcome.upload.expiresAt : 0;
    expect(Math.abs(expiresAt - now() - 3_600_000)).toBeLessThan(heard === 'heard of the time' ? 20_000 : 80_000);
  });
});

describe('while a file is being stored', () => {
  /** An uploader that takes its time. */
  const slowUploader = (session: NatsSession, ms: number) => {
    const counts = { storing: 0, most: 0 };
    const real = new EmbeddedUploader(session);
    const upload = (file: NewFile) => {
      counts.most = Math.max(counts.most, ++counts.storing);
      const { sent, stored } = real.upload(file);
      const slow = stored.then(async (value) => {
        await sleep(ms);
        counts.storing--;
        return value;
      });
      return { sent, stored: slow };
    };
    return { counts, uploader: { upload } };
  };

  test('the slot renders the next one, with at most two files behind it', async () => {
    const session = await connect();
    const { counts, uploader } = slowUploader(session, 300);
    const behind: number[] = [];
    const render: RenderEngine['render'] = async () => {
      await sleep(20);
      behind.push(counts.storing);
      return picture();
    };
    for (let job = 0; job < 12; job++) await queue.publish();
    const start0 = performance.now();
    await start({ uploader, render }, session);
    await settled(12);
    // One after the other it would be 12 × 320 ms; with three at a time it is a third.
    expect(performance.now() - start0).toBeLessThan(12 * 320 * 0.75);
    expect(Math.max(...behind)).toBe(2);
  });

  test('its page is closed soon, although the store is slow', async () => {
    const session = await connect();
    const { uploader } = slowUploader(session, 3000);
    let closedAfter = Infinity;
    const render: RenderEngine['render'] = async ({ answered }) => {
      const start0 = performance.now();
      void answered?.then(() => (closedAfter = performance.now() - start0));
      return picture();
    };
    await start({ uploader, render }, session);
    await queue.publish();
    await settled(1);
    expect(closedAfter).toBeLessThan(2500);
  });
});

test('a job that takes longer than the ack wait is not delivered to anybody else', async () => {
  const ackWaitMs = 6000;
  await using _ = await shortenAckWait(ackWaitMs);
  const [one, other] = [await start({ render: rendersIn(ackWaitMs + 2500) }), await start()];
  other.slots.drain(0).catch(() => undefined);
  await queue.publish();
  await settled(1);
  expect([...one.taken, ...other.taken].filter(({ delivery }) => delivery > 1)).toEqual([]);
});

test('a background capture has a day to begin, but not to be rendered', async () => {
  const session = await connect();
  session.clock.learn(Date.now());
  const renderer = await start({}, session);
  const day = Date.now() + 86_400_000;
  await queue.publish({ lane: 'background', startBy: day, deadline: day + 100_000 });
  await settled(1);
  const [request] = renderer.rendered;
  expect(request?.deadline).toBeGreaterThan(Date.now());
  expect(request?.deadline).toBeLessThan(Date.now() + 100_000);
});

test('html that is too large for a message is read from its parcel; one that is gone is a failure', async () => {
  const uuid = randomUUIDv7();
  const text = `<p>${'x'.repeat(600_000)}`;
  await putHtml(nats.session, { region: 'us-east', name: uuid }, text, Date.now() + 60_000);
  const renderer = await start();
  await queue.publish({ uuid, html: uuid, url: 'about:blank' });
  await settled(1);
  expect(renderer.rendered[0]?.source).toEqual({ kind: 'html', html: text });
  await queue.publish({ html: randomUUIDv7(), url: 'about:blank' });
  expect((await settled(2))[1]).toMatchObject({ kind: 'failed', code: 'STORAGE_FAILED' });
});

test('fronts are told that a background capture is being rendered, and nothing else of it', async () => {
  const job = jobOf(newRecord({ lane: 'background' }));
  const { heard } = listen(job.reply?.subject);
  await nats.session.nc.flush();
  await start();
  await queue.jobs.publish(job);
  await settled(1);
  await until('the start', () => heard.length > 0);
  expect(heard.map(({ outcome }) => outcome.kind)).toEqual(['started']);
});

test('an acknowledgement that the server never answers holds a job for seconds, not until the deadline', async () => {
  const session = await connect();
  // What a killed server makes of a delivery that it had not yet written down.
  const subject = `$JS.ACK.CAPTURES.us-east-interactive.1.999999.999999.${Date.now()}000000.0`;
  const ack = async (timeout = 2000) => void (await session.nc.request(subject, '+ACK', { timeout }));
  await expect(ack(500)).rejects.toThrow(/timeout/i);
  const job = { ...jobOf(newRecord()), ticket: 'a.b' };
  const start0 = performance.now();
  await runJob(delivered(job, 1, { ack }), new AbortController().signal, depsOf(session)).done;
  expect(performance.now() - start0).toBeLessThan(10_000);
  expect(await queue.outcomes()).toMatchObject([{ kind: 'completed' }]);
});

test('each end is counted with its outcome, also that of a capture whose time had passed', async () => {
  const registry = new Registry();
  const metrics = createRendererMetrics(registry, {
    region: 'us-east',
    slots: 1,
    busy: () => 0,
    browserUp: () => true,
  });
  const session = await connect();
  session.clock.learn(Date.now());
  let turn = 0;
  const render: RenderEngine['render'] = async () => {
    if (++turn === 2) throw new ServiceError('NAVIGATION_FAILED');
    return picture();
  };
  await start({ render, onEnd: (end) => metrics.ended(end) }, session);
  await queue.publish();
  await settled(1);
  await queue.publish();
  await settled(2);
  await queue.publish({ startBy: Date.now() - 1000 });
  await settled(3);
  const text = await until('all to be counted', async () => {
    const all = await registry.metrics();
    return /outcome="CAPTURE_TIMEOUT"} 1$/m.test(all) ? all : undefined;
  });
  for (const outcome of ['completed', 'NAVIGATION_FAILED', 'CAPTURE_TIMEOUT']) {
    expect(text).toMatch(new RegExp(`captures_total{region="us-east",format="png",outcome="${outcome}"} 1$`, 'm'));
  }
  expect(text).toMatch(/^webcapture_renderer_render_seconds_count.* 2$/m);
  expect(text).toMatch(/^webcapture_renderer_queue_wait_seconds_count{region="us-east",lane="interactive"} 2$/m);
});

test('a result that NATS cannot take for 20 s is published when it is there again, and tells its true age', async () => {
  await using own = await startTestNats(['us-east']);
  const ownQueue = new TestQueue(own.session);
  const session = await own.connect();
  let restarted: Promise<void> | undefined;
  class Cut extends ResultPublisher {
    override async publish(...args: Parameters<ResultPublisher['publish']>): Promise<void> {
      restarted ??= own.kill().then(async () => {
        await sleep(20_000);
        await own.start();
      });
      await sleep(500);
      return super.publish(...args);
    }
  }
  const renderer = new TestRenderer(session, { results: new Cut(session, 'pod') });
  await ownQueue.publish();
  await until('the result', async () => restarted !== undefined && (await restarted, true), { deadlineMs: 50_000 });
  await until('the job to be acknowledged', async () => (await ownQueue.queued()) === 0, { deadlineMs: 30_000 });
  const outcomes = await ownQueue.outcomes();
  expect(outcomes).toMatchObject([{ kind: 'completed' }]);
  expect(outcomes[0]?.kind === 'completed' ? outcomes[0].ageMs : 0).toBeGreaterThan(15_000);
  await renderer.stop();
}, 120_000);

test('a renderer that stops while NATS is unavailable does not wait for it', async () => {
  await using own = await startTestNats(['us-east']);
  const session = await own.connect();
  class Cut extends ResultPublisher {
    override async publish(...args: Parameters<ResultPublisher['publish']>): Promise<void> {
      await own.kill();
      return super.publish(...args);
    }
  }
  const renderer = new TestRenderer(session, { results: new Cut(session, 'pod') });
  await new TestQueue(own.session).publish();
  await until('the server to be gone', () => !session.connected());
  const start0 = performance.now();
  await renderer.stop(100);
  expect(performance.now() - start0).toBeLessThan(15_000);
  await own.start();
}, 90_000);
