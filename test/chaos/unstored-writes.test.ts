// @module-tag long
import { randomUUID } from 'node:crypto';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from 'vitest';
import { connectNats, type NatsSession } from '@webcapture/shared/nats/connect.ts';
import { retryTransient } from '@webcapture/shared/nats/retry.ts';
import { captureSubject, streamNames } from '@webcapture/shared/nats/streams.ts';
import { FileMessages } from '@webcapture/shared/files/file-messages.ts';
import { startNatsCluster, type NatsCluster } from '../harness/nats-cluster.ts';
import { silentLog } from '../harness/nats-session.ts';
import { until } from '../harness/until.ts';

let cluster: NatsCluster;

beforeAll(async () => {
  const folder = await mkdtemp(join(inject('tempFolder'), 'unstored-'));
  cluster = await startNatsCluster({ folder, toolPath: inject('tools').natsServer });
  await cluster.provision(['us-east']);
});

afterAll(() => cluster.stop());

/** Connects to some nodes of the cluster. */
async function connectTo(indexes: readonly number[]): Promise<NatsSession> {
  const url = indexes.map((index) => cluster.node(index).url).join(',');
  const session = await connectNats({ url, name: 'test', log: silentLog, signal: AbortSignal.timeout(30_000) });
  onTestFinished(() => session.nc.close());
  return session;
}

/** Longer than the time after which a leader without followers steps down. */
const partitionMs = 15_000;

const attemptMs = 500;

const fileSubject = () => `files.part.us-east.${randomUUID()}.${randomUUID()}.0`;

test('messages of files and a job count as written only when they are stored, not when a leader without followers has proposed them', async () => {
  // The node leads both streams: it accepts writes, but cannot store them.
  const leader = await cluster.leaderOf(streamNames.files);
  await cluster.makeLeader(streamNames.captures, leader);
  const session = await connectTo([leader]);
  const others = await connectTo([0, 1, 2].filter((index) => index !== leader));
  expect(await cluster.leaderOf(streamNames.files)).toBe(leader);
  cluster.partition(leader);
  const partitionEnds = setTimeout(partitionMs);

  const messages = new FileMessages(session);
  const limits = { ttlSeconds: 60, timeout: attemptMs, deadline: Date.now() + 60_000 };
  const own = fileSubject();
  const shared = `files.html.us-east.${randomUUID()}.head`;
  const retries = { deadline: Date.now() + 60_000, attemptTimeoutMs: attemptMs };
  const msgID = randomUUID();
  const writes = [
    messages.create(own, 'bytes', limits),
    messages.create(shared, 'bytes', { ...limits, isShared: true }),
    messages.create(shared, 'bytes', { ...limits, isShared: true }),
    retryTransient(
      (timeout) => session.js.publish(captureSubject('us-east', 'interactive'), 'job', { msgID, timeout }),
      retries,
    ),
  ];
  let written = 0;
  const writing = Promise.all(writes.map((write) => write.then(() => written++)));
  // The rejection is handled when the promise is awaited below.
  writing.catch(() => undefined);

  const meanwhile = fileSubject();
  await until('the others to have a leader that stores', () =>
    others.js.publish(meanwhile, 'bytes', { msgID: meanwhile, timeout: attemptMs }),
  );
  // The former leader, which accepted writes, has stepped down.
  await partitionEnds;
  expect(written).toBe(0);

  cluster.heal();
  await writing;
  await cluster.ready();
  const { jsm } = await cluster.session();
  for (const subject of [own, shared, meanwhile]) {
    const stored = await jsm.streams.getMessage(streamNames.files, { last_by_subj: subject });
    expect(stored?.string()).toBe('bytes');
  }
  expect((await jsm.streams.info(streamNames.captures)).state.messages).toBe(1);
});
