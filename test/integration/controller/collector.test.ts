import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { connectNats, type NatsSession } from '@webcapture/shared/nats/connect.ts';
import {
  backgroundShards,
  captureDurable,
  resultDurable,
  resultSubject,
  streamNames,
} from '@webcapture/shared/nats/streams.ts';
import { backgroundShardOf } from '@webcapture/shared/queue/jobs.ts';
import { createMetrics } from '@webcapture/shared/runtime/ops-server.ts';
import { startNats } from '../../../deploy/local/nats.ts';
import { createControllerMetrics } from '../../../services/controller/health/metrics.ts';
import type { QueueFacts } from '../../../services/controller/health/facts.ts';
import { ClusterReports } from '../../../services/controller/health/cluster-reports.ts';
import { Collector } from '../../../services/controller/health/collector.ts';
import { readQueue, type KnownDepths } from '../../../services/controller/health/queue-depths.ts';
import { fake } from '../../harness/fake.ts';
import { silentLog, startTestNats, streamSettings, type TestNats } from '../../harness/nats-session.ts';
import { pullOne } from '../../harness/pull-one.ts';
import { until } from '../../harness/until.ts';
import { answered } from './support/facts.ts';
import { queueCapture } from './support/jobs.ts';
import { TcpGate } from './support/tcp-gate.ts';
import { provision } from '../../../services/controller/streams.ts';

let nats: TestNats;
beforeAll(async () => {
  nats = await startTestNats(['us-east', 'eu-west']);
});
afterAll(() => nats[Symbol.asyncDispose]());

const read = (session = nats.session, timeoutMs = 30_000) =>
  readQueue(session, streamSettings, ['us-east', 'eu-west'], { timeoutMs });

test('readQueue counts waiting captures by priority, without jobs that are held, and their greatest age', async () => {
  const { session } = nats;
  for (let index = 0; index < 3; index++) await queueCapture(session);
  await queueCapture(session, { priority: 'background', region: 'eu-west' });
  await new Promise((resolve) => setTimeout(resolve, 100));
  await queueCapture(session, { priority: 'background', region: 'eu-west', unrecorded: true, account: 'other' });
  expect(
    await pullOne(session.nc, streamNames.captures, captureDurable('us-east', 'interactive'), 5000),
  ).not.toBeNull();
  for (const priority of ['interactive', 'background'] as const)
    await queueCapture(session, { priority, region: 'asia-east' });
  const age = expect.any(Number) as number;
  const shards = ['acme', 'other']
    .map((account) => backgroundShardOf(account, backgroundShards))
    .toSorted((a, b) => a - b);
  const facts = await read();
  expect(facts).toEqual({
    kind: 'answered',
    roundTripMs: expect.any(Number) as number,
    missing: [],
    waiting: {
      'us-east': {
        interactive: 2,
        background: 0,
        backgroundHeld: 0,
        oldestInteractiveMs: age,
        oldestBackgroundMs: null,
      },
      'eu-west': {
        interactive: 0,
        background: 2,
        backgroundHeld: 0,
        oldestInteractiveMs: null,
        oldestBackgroundMs: age,
      },
    },
    shards: { 'us-east': [], 'eu-west': shards },
    retired: { 'asia-east': 2 },
    results: { waiting: 0, oldestMs: null },
  });
  if (facts.kind !== 'answered') return;
  // The age is that of the older shard.
  for (const told of [facts.waiting['us-east']?.oldestInteractiveMs, facts.waiting['eu-west']?.oldestBackgroundMs]) {
    expect(told).toBeGreaterThanOrEqual(100);
    expect(told).toBeLessThan(60_000);
  }
});

test('a shard is listed while a renderer holds a capture of it', async () => {
  const { session } = nats;
  const account = 'held';
  const shard = backgroundShardOf(account, backgroundShards);
  await queueCapture(session, { priority: 'background', account });
  const message = await pullOne(session.nc, streamNames.captures, captureDurable('us-east', 'background', shard), 5000);
  expect(await read()).toMatchObject({
    waiting: { 'us-east': { background: 0, backgroundHeld: 1 } },
    shards: { 'us-east': [shard] },
  });
  await message?.ack();
  expect(await read()).toMatchObject({ waiting: { 'us-east': { backgroundHeld: 0 } }, shards: { 'us-east': [] } });
});

test('the metric of captures in removed regions has series only while there are any', async () => {
  const registry = createMetrics('test');
  const { showFacts } = createControllerMetrics(registry);
  const shown = async (queue: QueueFacts) => {
    showFacts({ at: 0, queue, storage: null, clusters: [], regions: [] });
    const { values = [] } = (await registry.getSingleMetric('webcapture_queue_retired_captures')?.get()) ?? {};
    return values.map(({ labels, value }) => [labels['region'], value]);
  };
  expect(await shown(answered({ retired: { 'eu-west': 3 } }))).toEqual([['eu-west', 3]]);
  expect(await shown(answered())).toEqual([]);
});

test('readQueue counts unsettled results, and the metrics show them while they can be counted', async () => {
  const { session } = nats;
  const registry = createMetrics('test');
  const metrics = createControllerMetrics(registry);
  const shown = async (queue: QueueFacts) => {
    metrics.showFacts({ at: 0, queue, storage: null, clusters: [], regions: [] });
    return Promise.all(
      ['webcapture_queue_results_waiting', 'webcapture_queue_results_oldest_age_seconds'].map(async (name) => {
        return (await registry.getSingleMetric(name)?.get())?.values.map(({ value }) => value);
      }),
    );
  };
  await session.js.publish(resultSubject('us-east', 'a'), '{}');
  await new Promise((resolve) => setTimeout(resolve, 100));
  await session.js.publish(resultSubject('eu-west', 'b'), '{}');
  const facts = await read();
  expect(facts).toMatchObject({ results: { waiting: 2 } });
  const [waiting, oldest] = await shown(facts);
  expect(waiting).toEqual([2]);
  expect(oldest?.[0]).toBeGreaterThanOrEqual(0.1);
  expect(oldest?.[0]).toBeLessThan(60);
  expect(await shown({ kind: 'unreachable', why: 'no answer' })).toEqual([[], []]);

  const taken = await pullOne(session.nc, streamNames.results, resultDurable, 5000);
  expect(await read()).toMatchObject({ results: { waiting: 2 } });
  await taken?.ack();
  await until('the settled result to leave the queue', async () => {
    const after = await read();
    return after.kind === 'answered' && after.results?.waiting === 1;
  });
  await session.jsm.streams.purge(streamNames.results);
  expect(await shown(await read())).toEqual([[0], [0]]);
});

test('readQueue lists missing streams and consumers', async () => {
  await nats.session.jsm.consumers.delete(streamNames.captures, 'eu-west-background-3');
  expect(await read()).toMatchObject({ kind: 'answered', missing: ['CAPTURES/eu-west-background-3'] });
  await nats.session.jsm.streams.delete(streamNames.dead);
  expect(await read()).toMatchObject({
    missing: ['DEAD', 'CAPTURES/eu-west-background-3', 'DEAD/dead-letters'],
  });
});

test('if consumers do not answer, the queue is reachable and their last known counts are kept', async () => {
  const dataDir = await mkdtemp(join(inject('tempFolder'), 'nats-'));
  // The consumers behave as if they had no leader: the server answers neither their list nor requests about them.
  const silent = ['$JS.API.CONSUMER.LIST.>', '$JS.API.CONSUMER.INFO.CAPTURES.us-east-background-3'];
  const users = [
    { user: 'all', password: 'all' },
    { user: 'some', password: 'some', permissions: { publish: { allow: ['>'], deny: silent } } },
  ];
  const config = `authorization: ${JSON.stringify({ users })}`;
  const server = await startNats({ dataDir, toolPath: inject('tools').natsServer, config });
  const signal = AbortSignal.timeout(30_000);
  const connectAs = (user: string) =>
    connectNats({ url: server.url, name: user, user, password: user, log: silentLog, signal });
  const [all, some] = await Promise.all([connectAs('all'), connectAs('some')]);
  try {
    await provision(all.jsm, streamSettings, ['us-east', 'eu-west']);
    await queueCapture(all);
    const known: KnownDepths = new Map();
    const look = (session: NatsSession) =>
      readQueue(session, streamSettings, ['us-east', 'eu-west'], { timeoutMs: 30_000, known });
    const unknown = await look(some);
    expect(unknown).toMatchObject({ kind: 'answered', missing: [], waiting: { 'eu-west': { background: 0 } } });
    expect(unknown.kind === 'answered' && unknown.waiting['us-east']).toBeUndefined();
    await look(all);
    await queueCapture(all);
    expect(await look(some)).toMatchObject({
      missing: [],
      waiting: { 'us-east': { interactive: 2, background: 0 }, 'eu-west': { interactive: 0 } },
    });
    await all.jsm.consumers.delete(streamNames.captures, 'us-east-background-3');
    expect(await look(some)).toMatchObject({ missing: ['CAPTURES/us-east-background-3'] });
  } finally {
    await Promise.all([all.nc.close(), some.nc.close()]);
    await server.process.stop({ graceMs: 0 });
    await rm(dataDir, { recursive: true, force: true });
  }
});

test('a server that does not answer in time is reported as unreachable', async () => {
  const gate = await TcpGate.to(nats.url);
  const signal = AbortSignal.timeout(30_000);
  const session = await connectNats({ url: gate.url, name: 'cut off', log: silentLog, signal });
  gate.cut();
  const start = performance.now();
  expect(await read(session, 300)).toEqual({ kind: 'unreachable', why: 'no answer' });
  // The requests themselves time out after 5 s.
  expect(performance.now() - start).toBeLessThan(4900);
  await session.nc.close();
  gate.close();
});

test('the fleet is unknown right after a connection, and while there is no connection', async () => {
  const link = { up: true, id: 1, now: 0 };
  const session = {
    connected: () => link.up,
    now: () => 0,
    nc: {
      get info() {
        return { server_id: 'S', client_id: link.id };
      },
    },
    // The queue therefore seems unreachable, which does not matter here.
    jsm: undefined,
  } as unknown as NatsSession;
  const collector = new Collector({
    session,
    streams: streamSettings,
    regions: [{ region: 'us-east', minRenderers: 1 }],
    fleet: fake({ fresh: () => [], silent: () => [] }),
    storage: { facts: null },
    clusters: new ClusterReports(false),
    pending: () => new Set(),
    canaries: { of: () => null },
    now: () => link.now,
  });
  const known = async (state: Partial<typeof link>) => {
    Object.assign(link, state);
    return (await collector.read()).regions[0]?.fleetKnown;
  };
  expect(await known({ now: 0 })).toBe(false);
  expect(await known({ now: 4999 })).toBe(false);
  expect(await known({ now: 5000 })).toBe(true);
  expect(await known({ up: false })).toBe(false);
  expect(await known({ up: true, id: 2, now: 6000 })).toBe(false);
  expect(await known({ now: 11_000 })).toBe(true);
});
