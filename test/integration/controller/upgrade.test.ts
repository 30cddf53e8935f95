// @module-tag long
import { nanos } from '@nats-io/nats-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Registry } from 'prom-client';
import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { backgroundShards, captureDurable, streamNames } from '@webcapture/shared/nats/streams.ts';
import { AccountUsage } from '@webcapture/shared/accounts/account-usage.ts';
import { Captures } from '@webcapture/shared/captures/captures.ts';
import { backgroundShardOf } from '@webcapture/shared/queue/jobs.ts';
import { begin, startRefresh } from '@webcapture/shared/captures/transitions.ts';
import { EmbeddedStore } from '@webcapture/shared/files/embedded-store.ts';
import { EmbeddedUploader } from '@webcapture/shared/files/embedded-uploader.ts';
import { readHtml } from '@webcapture/shared/files/stored-html.ts';
import { readFrontConfig } from '../../../services/front/config.ts';
import { createFront } from '../../../services/front/front.ts';
import type { RenderSource } from '../../../services/renderer/page/engine.ts';
import { JobSource } from '../../../services/renderer/worker/job-source.ts';
import { ResultPublisher } from '../../../services/renderer/worker/publish-result.ts';
import { returnJob, runJob, type JobDeps } from '../../../services/renderer/worker/run-job.ts';
import { Slots } from '../../../services/renderer/worker/slots.ts';
import { silentLog, streamSettings } from '../../harness/nats-session.ts';
import { pullOne } from '../../harness/pull-one.ts';
import { newOutcome, newRecord, plainReport, pngLike } from '../../harness/records.ts';
import { until } from '../../harness/until.ts';
import { TestBroker } from './support/broker.ts';
import { orderOf } from './support/refresh-order.ts';
import { completeCapture } from './support/settling.ts';
import { TestController } from './support/test-controller.ts';
import { provisionVersion01, putOldHtml, queueOldJob, storeOldFile } from './support/version-01.ts';
import { createStreamMetrics, measureStreams } from '../../../services/controller/jobs/stream-sizes.ts';
import { provision, streamConfigs } from '../../../services/controller/streams.ts';

const region = 'us-east';
const stateOf = async ({ jsm }: NatsSession, stream: string) => (await jsm.streams.info(stream)).state;

describe('streams and durables of version 0.1', () => {
  let broker: TestBroker;
  let session: NatsSession;
  beforeAll(async () => {
    broker = await TestBroker.start();
    session = await broker.connect();
    await provisionVersion01(session, region);
  });
  afterAll(() => broker.stop());

  test('are brought to this version in place: no message is lost, and none is delivered anew', async () => {
    const { js, jsm } = session;
    const kept = [
      streamNames.db,
      streamNames.live,
      streamNames.cache,
      streamNames.captures,
      streamNames.tasks,
      streamNames.dead,
      streamNames.files,
    ];
    for (const name of ['one', 'two']) {
      for (const kv of ['db', 'live', 'cache']) await js.publish(`$KV.${kv}.${name}`, name);
      await queueOldJob(session, newRecord({ lane: 'interactive' }));
      const specification = new Date(Date.now() + 3_600_000);
      await js.publish(`later.expiry.${name}`, name, { schedule: { specification, target: `tasks.expiry.${name}` } });
      await js.publish(`$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.CAPTURES.${name}`, name);
      await js.publish(`files.html.${name}.0`, name);
    }
    // One of the two jobs is done, the other one is held by a renderer.
    const durable = captureDurable(region, 'interactive');
    await (await pullOne(session.nc, streamNames.captures, durable, 5000))?.ack();
    const held = await pullOne(session.nc, streamNames.captures, durable, 5000);
    const look = async () => ({
      states: await Promise.all(
        kept.map(async (name) => {
          const { messages, first_seq, last_seq } = await stateOf(session, name);
          return { name, messages, first_seq, last_seq };
        }),
      ),
      floor: (await jsm.consumers.info(streamNames.captures, durable)).ack_floor.stream_seq,
    });
    const before = await look();
    expect(before.states.map(({ messages }) => messages)).toEqual([2, 2, 2, 1, 2, 2, 2]);
    await provision(session.jsm, streamSettings, [region]);
    held?.working();
    expect(await look()).toEqual(before);
    for (const config of streamConfigs(streamSettings)) {
      // The server leaves a time of 0 out.
      const { max_bytes: _bytes, subject_delete_marker_ttl: _markers, ...wanted } = config;
      expect((await jsm.streams.info(config.name)).config).toMatchObject(wanted);
    }
    await held?.ack();
    expect((await stateOf(session, streamNames.captures)).messages).toBe(0);
  });

  test('get a limit of their size, but none below what they hold: a full stream refuses captures', async () => {
    const mebibyte = 1024 ** 2;
    const maxBytesOf = async (name: string) => (await session.jsm.streams.info(name)).config.max_bytes;
    const limited = (files: number) => ({ ...streamSettings, maxBytes: { ...streamSettings.maxBytes, files } });
    await session.js.publish('files.part.large', new Uint8Array(900 * 1024));
    await session.js.publish('files.part.larger', new Uint8Array(900 * 1024));
    await provision(session.jsm, limited(mebibyte), [region]);
    expect(await maxBytesOf(streamNames.files)).toBe(-1);
    await session.js.publish('files.part.another', 'there is room');
    await provision(session.jsm, limited(4 * mebibyte), [region]);
    expect(await maxBytesOf(streamNames.files)).toBe(4 * mebibyte);
    // Its leader shows how full they are, and no other.
    const streamMetrics = createStreamMetrics(new Registry());
    const shown = async () => {
      const gauges = [streamMetrics.bytes, streamMetrics.maxBytes];
      const values = await Promise.all(gauges.map(async (gauge) => (await gauge.get()).values));
      return values.map((each) => each.find(({ labels }) => labels.stream === streamNames.files)?.value);
    };
    let leads = true;
    const term = { holds: () => leads, signal: AbortSignal.abort() };
    await measureStreams({ session, streamMetrics }, term);
    expect(await shown()).toEqual([(await stateOf(session, streamNames.files)).bytes, 4 * mebibyte]);
    leads = false;
    await measureStreams({ session, streamMetrics }, term);
    expect(await shown()).toEqual([undefined, undefined]);
  });
});

/** What an engine was told to show, and what it makes of it. */
function startRenderer(session: NatsSession) {
  const rendered: RenderSource[] = [];
  const engine: JobDeps['engine'] = {
    browserState: () => 'up',
    close: async () => undefined,
    render: async ({ source, options }) => {
      rendered.push(source);
      const { width, height } = options.viewport;
      return { bytes: pngLike(64, { width, height }), mimeType: 'image/png', width, height, report: plainReport };
    },
  };
  const deps: JobDeps = {
    engine,
    uploader: new EmbeddedUploader(session),
    results: new ResultPublisher(session, 'renderer'),
    readHtml: (name) => readHtml(session, { region, name }, 'by-subject'),
    reachesNats: async () => true,
    clock: session.clock,
    onEnd: () => undefined,
    onReturn: () => undefined,
    log: silentLog,
  };
  const slots: Slots = new Slots({
    count: 4,
    run: (message, signal) => runJob(message, signal, deps),
    returnJob: (message, reason) => returnJob(message, reason, deps),
    ready: () => true,
    onFree: () => source.ask(),
  });
  const source: JobSource = new JobSource(session, {
    region,
    free: () => slots.free,
    onJob: (message) => slots.take(message),
    log: silentLog,
  });
  return {
    rendered,
    stop: async () => {
      source.close();
      await slots.drain(0);
    },
  };
}

/** By then what a dead renderer held comes back, once the controller has set up its durable: in earnest after 30 s. */
const ackWaitMs = 2000;

const account = 'old';

/** Captures as version 0.1 left them, by what the renderer is to be shown: null where that is nothing. */
async function leaveCaptures(session: NatsSession) {
  const captures = new Captures(session);
  const left: { record: CaptureRecord; revision: number; shown: string | null }[] = [];
  const accept = async (shown: string, changes: Partial<CaptureRecord> = {}) => {
    const record = newRecord({ account, lane: 'background', url: shown, ...changes });
    await captures.create(record);
    left.push({ record, revision: 0, shown });
    return record;
  };
  const html = (name: string) => `<p>${name}</p>`;
  const queued = await accept('https://example.com/queued');
  await queueOldJob(session, queued);

  const stored = newRecord().uuid;
  await putOldHtml(session, stored, html('stored'));
  await queueOldJob(session, await accept(html('stored'), { uuid: stored, html: stored, url: 'about:blank' }));

  const interactive = { lane: 'interactive', url: 'about:blank' } as const;
  const inline = await accept(html('inline'), interactive);
  await queueOldJob(session, inline, { source: { kind: 'html', html: html('inline') } });

  const large = await accept(html('large'), interactive);
  await putOldHtml(session, large.uuid, html('large'));
  await queueOldJob(session, large, { source: { kind: 'stored-html', fileName: large.uuid } });

  const kept = newRecord().uuid;
  await putOldHtml(session, kept, html('refreshed'));
  const persistence = { refreshIntervalMs: 0 };
  const first = await accept(html('refreshed'), { uuid: kept, html: kept, url: 'about:blank', persistence });
  await storeOldFile(session, first, pngLike(64, first.options.viewport));
  await completeCapture(captures, first, newOutcome(), first.expiresAt);
  const refreshed = (await captures.change(first, startRefresh(orderOf(1)))) ?? first;
  await queueOldJob(session, refreshed, { revision: 1 });
  left.splice(-1, 1, { record: refreshed, revision: 1, shown: html('refreshed') });

  // Its renderer has completed it, and died before it could acknowledge the job.
  const done = await accept('https://example.com/done');
  await storeOldFile(session, done, pngLike(64, done.options.viewport));
  await queueOldJob(session, done);
  await completeCapture(captures, done, newOutcome(), done.expiresAt);
  left.splice(-1, 1, { record: done, revision: 0, shown: null });

  // Its renderer has died while it was rendering. It has a shard to itself.
  const orphan = await accept('https://example.com/orphan', { account: 'orphan' });
  await queueOldJob(session, orphan);
  const shard = backgroundShardOf('orphan', backgroundShards);
  expect(shard).not.toBe(backgroundShardOf(account, backgroundShards));
  await pullOne(session.nc, streamNames.captures, captureDurable(region, 'background', shard), 5000);
  await captures.change(orphan, begin(0));
  return left;
}

describe.concurrent.each([
  'the leader converts them before a renderer comes',
  'renderers pull them before there is a leader',
])('jobs of version 0.1: %s', (order) => {
  test('all are rendered by renderers of this version, once, charged once, and none is lost', async () => {
    const broker = await TestBroker.start();
    const session = await broker.connect();
    await provisionVersion01(session, region);
    const left = await leaveCaptures(session);
    const captures = new Captures(session);
    const env = { WEBCAPTURE_REGIONS: `${region}:1`, WEBCAPTURE_NATS_URL: broker.url };
    const leader = () => TestController.start({ ...env, WEBCAPTURE_POD: 'controller-1' }, { sweepMs: 1000 });
    const heldIn = captureDurable(region, 'background', backgroundShardOf('orphan', backgroundShards));
    const shortenAckWait = async () => {
      const { config } = await session.jsm.consumers.info(streamNames.captures, heldIn);
      if (config.ack_wait === nanos(ackWaitMs)) return;
      await session.jsm.consumers.update(streamNames.captures, heldIn, { ack_wait: nanos(ackWaitMs) });
    };
    const versionsInQueue = async () => {
      const { messages, first_seq, last_seq } = await stateOf(session, streamNames.captures);
      const versions: number[] = [];
      for (let seq = first_seq; messages > 0 && seq <= last_seq; seq++) {
        const message = await session.jsm.streams.getMessage(streamNames.captures, { seq }).catch(() => null);
        if (message !== null) versions.push(message.json<{ version: number }>().version);
      }
      return versions;
    };

    let controller: TestController;
    let renderer: ReturnType<typeof startRenderer>;
    if (order.startsWith('the leader')) {
      controller = await leader();
      await until(
        'all but the one that is held to be converted',
        async () => {
          const versions = await versionsInQueue();
          expect([versions.filter((version) => version === 1).length, versions.length]).toEqual([1, left.length - 1]);
          return true;
        },
        { intervalMs: 100 },
      );
      renderer = startRenderer(await broker.connect());
    } else {
      // A controller has set up the streams, and died.
      await provision(session.jsm, streamSettings, [region]);
      renderer = startRenderer(await broker.connect());
      const durables = [
        captureDurable(region, 'interactive'),
        captureDurable(region, 'background', backgroundShardOf(account, backgroundShards)),
      ];
      await until('the renderer to have pulled them', async () => {
        const infos = await Promise.all(durables.map((each) => session.jsm.consumers.info(streamNames.captures, each)));
        return infos.every(({ num_pending }) => num_pending === 0);
      });
      expect(renderer.rendered).toEqual([]);
      controller = await leader();
    }
    const stop = new AbortController();
    const own = await broker.connect();
    const front = await createFront({
      config: readFrontConfig({ ...env, WEBCAPTURE_CDN_URL: 'https://cdn.test' }),
      session: own,
      store: new EmbeddedStore(own),
      signLink: undefined,
      log: silentLog,
      metrics: new Registry(),
      signal: stop.signal,
      leaving: stop.signal,
    });

    const states = async () => {
      const records = await Promise.all(left.map(({ record }) => captures.get(record.account, record.uuid)));
      return records.map((entry, index) => {
        const { status, refresh } = entry?.value ?? {};
        return left[index]?.revision === 0 ? status : refresh?.state;
      });
    };
    await until(
      'all to be completed',
      async () => {
        // The leader sets it anew when it begins.
        await shortenAckWait();
        expect(await states()).toEqual(left.map(() => 'completed'));
        return true;
      },
      // Each look reads a dozen things.
      { deadlineMs: 90_000, intervalMs: 200 },
    );
    await until('both queues to be empty', async () => {
      const counts = await Promise.all(
        [streamNames.captures, streamNames.results].map((name) => stateOf(session, name)),
      );
      return counts.every(({ messages }) => messages === 0);
    });
    const shown = renderer.rendered.map((source) => (source.kind === 'url' ? source.url : source.html));
    expect(shown.toSorted()).toEqual(left.flatMap((each) => each.shown ?? []).toSorted());
    const store = new EmbeddedStore(session);
    for (const { record } of left) expect(await store.stat(record.fileName)).not.toBeNull();
    const usage = new AccountUsage(session);
    const charged = left.filter(({ record }) => record.account === account).length;
    // The capture that was refreshed had been charged before.
    const usageCheck = { tokens: charged + 1, captures: charged + 1, reserved: 0, queued: 0 };
    expect(await usage.read(account, Date.now(), 'exact')).toMatchObject(usageCheck);
    expect(await usage.read('orphan', Date.now(), 'exact')).toMatchObject({
      tokens: 1,
      captures: 1,
      reserved: 0,
      queued: 0,
    });

    await renderer.stop();
    stop.abort();
    await front.close();
    await controller.stop();
    await broker.stop();
  });
});
