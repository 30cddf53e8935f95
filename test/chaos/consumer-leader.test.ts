// @module-tag long
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { nanos, type Msg, type NatsConnection } from '@nats-io/nats-core';
import { afterAll, afterEach, beforeAll, expect, inject, onTestFinished, test } from 'vitest';
import { connectNats } from '@webcapture/shared/nats/connect.ts';
import { captureDurable, captureSubject, streamNames } from '@webcapture/shared/nats/streams.ts';
import { startNatsCluster, type NatsCluster } from '../harness/nats-cluster.ts';
import { silentLog } from '../harness/nats-session.ts';
import { until } from '../harness/until.ts';

const stream = streamNames.captures;
const durable = captureDurable('us-east', 'interactive');
const subject = captureSubject('us-east', 'interactive');

/** The interval in which a renderer extends the acknowledgement deadline of its jobs. */
const heartbeatMs = 1500;

const heldJobs = 8;

let cluster: NatsCluster;

beforeAll(async () => {
  const folder = await mkdtemp(join(inject('tempFolder'), 'consumer-leader-'));
  cluster = await startNatsCluster({ folder, toolPath: inject('tools').natsServer });
  await cluster.provision(['us-east']);
});

afterEach(async () => {
  await cluster.repair();
  // Jobs of a failed test must not affect the next one.
  const { jsm } = await cluster.session();
  await jsm.streams.purge(stream);
});

afterAll(() => cluster.stop());

async function connect(name: string): Promise<NatsConnection> {
  const options = { url: cluster.urls, name, log: silentLog, signal: AbortSignal.timeout(30_000) };
  const { nc } = await connectNats(options);
  onTestFinished(() => nc.close());
  return nc;
}

/** Pulls a job; null if none arrives in time or no server responds. */
async function pull(nc: NatsConnection, waitMs: number): Promise<Msg | null> {
  const request = JSON.stringify({ batch: 1, expires: nanos(waitMs) });
  const options = { noMux: true, timeout: waitMs + 500 };
  const reply = await nc.request(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${durable}`, request, options).catch(() => null);
  return (reply?.headers?.code ?? 0) === 0 ? reply : null;
}

/** Publishes a job as soon as the stream has a leader. */
async function publishJob(text: string): Promise<void> {
  const { js } = await cluster.session();
  await until('the stream to take a job', () => js.publish(subject, text, { msgID: text, timeout: 500 }));
}

/** Pulls jobs and regularly extends their acknowledgement deadlines, as a renderer does. */
async function holdJobs(name: string): Promise<{ acknowledge: () => Promise<void> }> {
  const nc = await connect('holder');
  const held: string[] = [];
  for (let index = 0; index < heldJobs; index++) {
    await publishJob(`${name} ${index}`);
    const job = await until('a job', () => pull(nc, 1000));
    held.push(job.reply ?? '');
  }
  const heartbeat = setInterval(() => {
    for (const job of held) nc.publish(job, '+WPI');
  }, heartbeatMs);
  onTestFinished(() => clearInterval(heartbeat));
  return {
    acknowledge: async () => {
      clearInterval(heartbeat);
      for (const job of held) {
        await until('an acknowledgement to be confirmed', () => nc.request(job, '+ACK', { timeout: 1000 }));
      }
    },
  };
}

test.for(['SIGKILL', 'SIGSTOP'] as const)(
  "jobs in progress are not redelivered after a %s of the consumer's leader, and its successor delivers a new job",
  async (signal) => {
    const holder = await holdJobs(signal);
    const other = await connect('other');
    const leader = await cluster.leaderOfConsumer(stream, durable);
    const from = performance.now();
    if (signal === 'SIGKILL') await cluster.node(leader).kill();
    else cluster.node(leader).stop();
    const publishing = publishJob(`${signal} new`);

    const delivered: string[] = [];
    const take = async () => {
      const job = await pull(other, 500);
      if (job === null) return;
      delivered.push(job.string());
      if (job.reply !== undefined) other.publish(job.reply, '+ACK');
    };
    const isNewServed = async () => {
      await take();
      return delivered.includes(`${signal} new`);
    };
    await until('the new job to be served', isNewServed, { intervalMs: 20 });
    process.stdout.write(`a new leader serves after ${((performance.now() - from) / 1000).toFixed(1)} s\n`);
    await publishing;
    // The new leader soon redelivers jobs that it considers abandoned.
    const end = performance.now() + 2 * heartbeatMs;
    while (performance.now() < end) {
      await take();
      await sleep(20);
    }
    expect(delivered).toEqual([`${signal} new`]);

    if (signal === 'SIGSTOP') cluster.node(leader).cont();
    await holder.acknowledge();
    const { jsm } = await cluster.session();
    await until('the queue to be empty', async () => (await jsm.streams.info(stream)).state.messages === 0);
  },
);

test('a job of a dead renderer is redelivered at once when another client sends a NAK for it', async () => {
  const dead = await connect('dead');
  const other = await connect('other');
  await publishJob('abandoned');
  const held = await until('the job', () => pull(dead, 1000));
  await dead.close();
  const pulling = pull(other, 10_000);
  await other.flush();
  const from = performance.now();
  other.publish(held.reply ?? '', '-NAK');
  const again = await pulling;
  expect(again?.string()).toBe('abandoned');
  expect(performance.now() - from).toBeLessThan(2000);
  await other.request(again?.reply ?? '', '+ACK', { timeout: 5000 });
});
