import { randomUUID } from 'node:crypto';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, inject, onTestFinished, test } from 'vitest';
import { connectNats } from '@webcapture/shared/nats/connect.ts';
import { retryTransient } from '@webcapture/shared/nats/retry.ts';
import { captureSubject, streamNames } from '@webcapture/shared/nats/streams.ts';
import { FileMessages } from '@webcapture/shared/files/file-messages.ts';
import { startNatsCluster, type NatsCluster } from '../harness/nats-cluster.ts';
import { silentLog, streamSettings } from '../harness/nats-session.ts';
import { provision } from '../../services/controller/streams.ts';

let cluster: NatsCluster;

beforeAll(async () => {
  const folder = await mkdtemp(join(inject('tempFolder'), 'unstored-'));
  cluster = await startNatsCluster({ folder, toolPath: inject('tools').natsServer });
  const { jsm } = await cluster.session();
  await provision(jsm, { ...streamSettings, replicas: 3 }, ['us-east']);
  await cluster.ready();
});

afterEach(() => cluster.repair());

afterAll(() => cluster.stop());

/** Connected to the leader of a stream, which then is cut off from its followers: it takes writes and can store none. */
async function besideLonelyLeader(stream: string) {
  const leader = await cluster.leaderOf(stream);
  const { url } = cluster.node(leader);
  const session = await connectNats({ url, name: 'test', log: silentLog, signal: AbortSignal.timeout(30_000) });
  onTestFinished(() => session.nc.close());
  cluster.partition(leader);
  return session;
}

/** Longer than a leader without followers stays one. */
const partitionMs = 15_000;

const attemptMs = 500;

/** What a promise has become when the partition has lasted: a leader that takes writes, and then one that knows it is none. */
const afterPartition = async <T>(promise: Promise<T>) =>
  Promise.race([promise, new Promise<'waits'>((resolve) => setTimeout(resolve, partitionMs, 'waits'))]);

test('a message of a file counts as written when it is stored, not when it was proposed', async () => {
  const session = await besideLonelyLeader(streamNames.files);
  const messages = new FileMessages(session);
  const limits = { ttlSeconds: 60, timeout: attemptMs, deadline: Date.now() + 60_000 };
  const own = `files.part.us-east.${randomUUID()}.${randomUUID()}.0`;
  const shared = `files.html.us-east.${randomUUID()}.head`;
  const writing = Promise.all([
    messages.create(own, 'bytes', limits),
    messages.create(shared, 'bytes', { ...limits, isShared: true }),
    messages.create(shared, 'bytes', { ...limits, isShared: true }),
  ]);
  expect(await afterPartition(writing)).toBe('waits');
  cluster.heal();
  await writing;
  await cluster.ready();
  const { jsm } = await cluster.session();
  for (const subject of [own, shared]) {
    const stored = await jsm.streams.getMessage(streamNames.files, { last_by_subj: subject });
    expect(stored?.string()).toBe('bytes');
  }
});

test('a job that was proposed and never stored is published again until it is', async () => {
  const session = await besideLonelyLeader(streamNames.captures);
  const msgID = randomUUID();
  const publishing = retryTransient(
    (timeout) => session.js.publish(captureSubject('us-east', 'interactive'), 'job', { msgID, timeout }),
    { deadline: Date.now() + 60_000, attemptTimeoutMs: attemptMs },
  );
  expect(await afterPartition(publishing)).toBe('waits');
  cluster.heal();
  await publishing;
  const { jsm } = await cluster.session();
  expect((await jsm.streams.info(streamNames.captures)).state.messages).toBe(1);
});
