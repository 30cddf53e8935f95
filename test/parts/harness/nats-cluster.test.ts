import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, inject, test } from 'vitest';
import { connectNats, type NatsSession } from '@webcapture/shared/nats/connect.ts';
import { startNatsCluster, type NatsCluster } from '../../harness/nats-cluster.ts';
import { silentLog } from '../../harness/nats-session.ts';
import { until } from '../../harness/until.ts';

const stream = 'WORK';

let cluster: NatsCluster;
let session: NatsSession;

beforeAll(async () => {
  const folder = await mkdtemp(join(inject('tempFolder'), 'cluster-'));
  cluster = await startNatsCluster({ folder, toolPath: inject('tools').natsServer });
  session = await connectNats({
    url: cluster.urls,
    name: 'test',
    log: silentLog,
    signal: AbortSignal.timeout(30_000),
  });
  await session.jsm.streams.add({
    name: stream,
    subjects: ['work.>'],
    retention: 'workqueue',
    num_replicas: 3,
  });
  await cluster.ready();
});

afterEach(() => cluster.repair());

afterAll(async () => {
  await session.nc.close();
  await cluster.stop();
});

/** Publishes once it works again: without a leader the server does not answer. */
const publish = (subject: string, data = 'work') =>
  until(`a message of ${subject} to be stored`, () =>
    session.js.publish(subject, data, { msgID: `${subject}-${data}`, timeout: 500 }),
  );

const messages = async () => (await session.jsm.streams.info(stream)).state.messages;

test('a leader that is killed has a successor, and comes back at its address with what was written meanwhile', async () => {
  const leader = await cluster.leaderOf(stream);
  const { url, pid } = cluster.node(leader);
  await publish('work.before');
  await cluster.node(leader).kill();
  expect(cluster.pids).toHaveLength(2);
  await publish('work.meanwhile');
  expect(await cluster.leaderOf(stream)).not.toBe(leader);
  await cluster.node(leader).start();
  await cluster.ready();
  expect(cluster.node(leader).url).toBe(url);
  expect(cluster.node(leader).pid).not.toBe(pid);
  expect(await cluster.node(leader).health()).toBe('ok');
  expect(await messages()).toBe(2);
});

test('a leader that hangs has a successor', async () => {
  const leader = await cluster.leaderOf(stream);
  cluster.node(leader).stop();
  await publish('work.hangs');
  await until('a successor', async () => (await cluster.leaderOf(stream)) !== leader);
});

test('a leader that is partitioned has a successor among the others, and follows it when the partition ends', async () => {
  const leader = await cluster.leaderOf(stream);
  const others = await connectNats({
    url: [0, 1, 2]
      .filter((index) => index !== leader)
      .map((index) => cluster.node(index).url)
      .join(','),
    name: 'test',
    log: silentLog,
    signal: AbortSignal.timeout(30_000),
  });
  cluster.partition(leader);
  const stored = await until('the others to store', () => others.js.publish('work.partition', '', { timeout: 500 }));
  cluster.heal();
  await cluster.ready();
  const message = await session.jsm.streams.getMessage(stream, { seq: stored.seq });
  expect(message?.subject).toBe('work.partition');
  await others.nc.close();
});

test('a rolling restart ends each server, and loses nothing', async () => {
  const before = cluster.pids;
  const count = await messages();
  await cluster.rollingRestart();
  expect(cluster.pids.filter((pid) => before.includes(pid))).toEqual([]);
  expect(await messages()).toBe(count);
});
