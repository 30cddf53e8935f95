import { randomUUIDv7 } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { connectNats, type NatsSession } from '@webcapture/shared/nats/connect.ts';
import type { PulledMessage } from '@webcapture/shared/nats/pull-inbox.ts';
import {
  backgroundShards,
  captureDurable,
  captureSubject,
  type Priority,
  signalSubject,
  streamNames,
} from '@webcapture/shared/nats/streams.ts';
import type { Region } from '@webcapture/shared/runtime/regions.ts';
import { JobSource } from '../../../services/renderer/worker/job-source.ts';
import { Slots } from '../../../services/renderer/worker/slots.ts';
import { silentLog, startTestNats, streamSettings, type TestNats } from '../../harness/nats-session.ts';
import { until } from '../../harness/until.ts';
import { rendersIn, TestQueue, TestRenderer, type TestRendererOptions, uuidOf } from './support/renderer.ts';
import { provision } from '../../../services/controller/streams.ts';

let nats: TestNats;
beforeAll(async () => {
  nats = await startTestNats(['us-east', 'eu-west', 'us-west']);
});
afterAll(() => nats[Symbol.asyncDispose]());

const pods: Pod[] = [];
const renderers: TestRenderer[] = [];
const sessions: NatsSession[] = [];
beforeEach(async () => {
  await nats.session.jsm.streams.purge(streamNames.captures);
  await nats.session.jsm.streams.purge(streamNames.results);
});
afterEach(async () => {
  for (const pod of pods.splice(0)) pod.close();
  await Promise.all(renderers.splice(0).map((renderer) => renderer.stop()));
  await Promise.all(sessions.splice(0).map(({ nc }) => nc.close()));
});

async function connect(server = nats): Promise<NatsSession> {
  const { url } = server;
  const session = await connectNats({ url, name: 'pod', log: silentLog, signal: AbortSignal.timeout(30_000) });
  sessions.push(session);
  return session;
}

interface Taken {
  readonly message: PulledMessage;
  /** Waited for while the job holds its slot. */
  readonly end: () => void;
}

/** What takes jobs of a region: its slots hold each one until the test ends it, unless `work` says otherwise. */
class Pod {
  readonly taken: Taken[] = [];
  readonly session: NatsSession;
  readonly #slots: Slots;
  readonly #source: JobSource;

  constructor(
    session: NatsSession,
    slots: number,
    work?: (message: PulledMessage) => Promise<void>,
    region: Region = 'us-east',
  ) {
    this.session = session;
    this.#slots = new Slots({
      count: slots,
      run: (message) => {
        const { promise, resolve } = Promise.withResolvers<void>();
        const working = setInterval(() => message.working(), 1500);
        this.taken.push({ message, end: resolve });
        const done = (work === undefined ? promise : work(message))
          .then(() => message.ack(10_000))
          .catch(() => undefined)
          .finally(() => clearInterval(working));
        return { rendered: done, done };
      },
      returnJob: async (message) => message.nak(1),
      ready: () => session.connected(),
      onFree: () => this.#source?.ask(),
    });
    this.#source = new JobSource(session, {
      region,
      free: () => this.#slots.free,
      onJob: (message) => this.#slots.take(message),
      log: silentLog,
    });
    pods.push(this);
  }

  /** The subjects of what was taken, in order, each ended as soon as it comes. */
  async take(count: number): Promise<string[]> {
    for (let index = 0; index < count; index++) {
      const { end } = await until(`job ${index}`, () => this.taken[index], { intervalMs: 2 });
      if (index < count - 1) end();
    }
    return this.taken.slice(0, count).map(({ message }) => message.subject);
  }

  close(): void {
    this.#source.close();
    for (const { end } of this.taken) end();
  }
}

const subjectOf = (lane: Priority, shard = 0) => captureSubject('us-east', lane, shard);
const interactive = subjectOf('interactive');

const job = () => JSON.stringify({ version: 2, uuid: randomUUIDv7() });

/** Queues jobs, many at a time; without a signal unless `tells`. */
async function publish(subject: string, count: number, { tells = false, server = nats } = {}): Promise<void> {
  for (let left = count; left > 0; left -= 500) {
    const batch = Array.from({ length: Math.min(500, left) }, () =>
      server.session.js.publish(subject, job(), { timeout: 20_000 }),
    );
    await Promise.all(batch);
  }
  const shard = Number(subject.split('.')[3]);
  if (tells) server.session.nc.publish(signalSubject('us-east'), JSON.stringify({ shards: [shard] }));
}

const consumer = (lane: Priority, shard = 0, region: Region = 'us-east') =>
  nats.session.jsm.consumers.info(streamNames.captures, captureDurable(region, lane, shard));

describe('jobs are taken in this order:', () => {
  test('interactive before background, but for every eighth turn', async () => {
    await publish(interactive, 40);
    await publish(subjectOf('background', 0), 40);
    const taken = await new Pod(await connect(), 1).take(24);
    expect(taken.filter((subject) => subject !== interactive)).toHaveLength(3);
    expect(taken.slice(0, 7)).toEqual(Array(7).fill(interactive));
  });

  test('accounts in the background in turn', async () => {
    await publish(subjectOf('background', 2), 30);
    await publish(subjectOf('background', 5), 3);
    const taken = await new Pod(await connect(), 1).take(6);
    expect(taken.map((subject) => Number(subject.split('.')[3])).toSorted((a, b) => a - b)).toEqual([2, 2, 2, 5, 5, 5]);
    for (const pair of [taken.slice(0, 2), taken.slice(2, 4), taken.slice(4)]) expect(new Set(pair).size).toBe(2);
  });

  test('behind ten thousand of one account, those of others after one that runs at most', async () => {
    await publish(subjectOf('background', 3), 10_000);
    const pod = new Pod(await connect(), 1);
    await pod.take(5);
    // While the fifth is running.
    await publish(subjectOf('background', 6), 1, { tells: true });
    await publish(interactive, 1);
    await until('both to wait', async () => {
      const waiting = [await consumer('interactive'), await consumer('background', 6)];
      return waiting.every(({ num_pending }) => num_pending === 1);
    });
    await pod.session.nc.flush();
    pod.taken[4]?.end();
    const taken = (await pod.take(8)).slice(5);
    // An eighth turn may fall among them.
    expect(taken.slice(0, 2)).toContain(interactive);
    expect(taken.slice(0, 3)).toContain(subjectOf('background', 6));
  });
});

// Each in a region of its own, so that what they send can be told apart while they idle side by side.
describe('an idle renderer', () => {
  const idling = [
    [1, 'us-east'],
    [4, 'eu-west'],
    [16, 'us-west'],
  ] as const;

  test('with 1, 4 or 16 slots sends at most one request in five seconds, and hears all answers on one subscription', async () => {
    await Promise.all(idling.map(([slots, region]) => expectIdle(slots, region)));
  });

  async function expectIdle(slots: number, region: Region): Promise<void> {
    const requests: string[] = [];
    const counter = nats.session.nc.subscribe('$JS.API.CONSUMER.MSG.NEXT.>', {
      callback: (_, { subject }) => {
        if (subject.split('.').at(-1)?.startsWith(`${region}-`)) requests.push(subject);
      },
    });
    await nats.session.nc.flush();
    const session = await connect();
    const subscribe = session.nc.subscribe.bind(session.nc);
    const inboxes: string[] = [];
    session.nc.subscribe = (subject, options) => {
      if (!subject.startsWith('signals.')) inboxes.push(subject);
      return subscribe(subject, options);
    };
    new Pod(session, slots, undefined, region);
    await until('it to wait', async () => (await consumer('interactive', 0, region)).num_waiting > 0);
    // Each durable was asked once at the start, by one slot for all.
    await until('the first look to end', () => requests.length >= backgroundShards + 2);
    const atStart = requests.length;
    expect(requests).toHaveLength(backgroundShards + 2);
    await sleep(12_000);
    expect(requests.length - atStart).toBeLessThanOrEqual(2);
    expect(inboxes).toHaveLength(1);
    counter.unsubscribe();
  }
});

test('a signal has one slot of an idle renderer look, and the others join in where there is more', async () => {
  const requests: string[] = [];
  const durable = captureDurable('us-east', 'background', 4);
  nats.session.nc.subscribe(`$JS.API.CONSUMER.MSG.NEXT.${streamNames.captures}.${durable}`, {
    callback: (_, { subject }) => void requests.push(subject),
  });
  const pod = new Pod(await connect(), 16);
  await until('it to wait', async () => (await consumer('interactive')).num_waiting > 0);
  await sleep(200);
  requests.length = 0;
  await publish(subjectOf('background', 4), 1, { tells: true });
  await pod.take(1);
  await sleep(300);
  // A busy machine may have come to the second look by now.
  expect(requests.length).toBeLessThanOrEqual(2);
  await publish(subjectOf('background', 4), 30, { tells: true });
  await until('all slots to work', () => pod.taken.length === 16);
});

test('a signal that comes while a shard is asked is not forgotten', async () => {
  const pod = new Pod(await connect(), 1);
  await until('it to wait', async () => (await consumer('interactive')).num_waiting > 0);
  for (let round = 0; round < 50; round++) {
    // The first one has it look, where it finds nothing; the job of the second may come just after that.
    nats.session.nc.publish(signalSubject('us-east'), '{"shards":[1]}');
    await publish(subjectOf('background', 1), 1, { tells: true });
    const { end } = await until(`job ${round}`, () => pod.taken[round], { deadlineMs: 30_000, intervalMs: 1 });
    end();
  }
});

test('a job that the server counts only after it has answered that there is none is found all the same', async () => {
  const pod = new Pod(await connect(), 1);
  await until('it to wait', async () => (await consumer('interactive')).num_waiting > 0);
  const looked = new Promise<void>((resolve) => {
    const durable = captureDurable('us-east', 'background', 3);
    nats.session.nc.subscribe(`$JS.API.CONSUMER.MSG.NEXT.${streamNames.captures}.${durable}`, {
      max: 1,
      callback: () => resolve(),
    });
  });
  await nats.session.nc.flush();
  nats.session.nc.publish(signalSubject('us-east'), '{"shards":[3]}');
  await looked;
  // The other way about than it happens: here the signal comes too early, there the count too late.
  await publish(subjectOf('background', 3), 1);
  // Without a signal it would look again in a minute.
  await until('the job', () => pod.taken.length === 1, { deadlineMs: 30_000 });
});

test('a malformed signal does no harm', async () => {
  const pod = new Pod(await connect(), 1);
  await until('it to wait', async () => (await consumer('interactive')).num_waiting > 0);
  for (const text of ['', 'null', '{}', '{"shards":[99,-1,"x",null,1e9]}', '{"shards":[],"now":"late"}']) {
    nats.session.nc.publish(signalSubject('us-east'), text);
  }
  await publish(subjectOf('background', 7), 1, { tells: true });
  expect(await pod.take(1)).toEqual([subjectOf('background', 7)]);
  expect(pod.session.clock.isKnown).toBe(false);
});

describe('a hundred idle renderers', () => {
  test('ask seldom, and one of them takes a job at once', async () => {
    const requests: number[] = [];
    const counter = nats.session.nc.subscribe('$JS.API.CONSUMER.MSG.NEXT.>', {
      callback: () => void requests.push(performance.now()),
    });
    const all = await Promise.all(Array.from({ length: 100 }, async () => new Pod(await connect(), 4)));
    await until('all to wait', async () => (await consumer('interactive')).num_waiting >= 100);
    await until('quiet', () => performance.now() - (requests.at(-1) ?? 0) > 500);
    requests.length = 0;
    await sleep(5000);
    process.stdout.write(`100 idle renderers: ${requests.length / 5} pull requests/s\n`);
    expect(requests.length).toBeLessThanOrEqual(100);
    const taken = () => all.reduce((sum, pod) => sum + pod.taken.length, 0);
    const took: number[] = [];
    for (let count = 1; count <= 20; count++) {
      const start = performance.now();
      await publish(interactive, 1);
      await until('it to be taken', () => taken() === count, { intervalMs: 1 });
      took.push(performance.now() - start);
    }
    const sorted = took.toSorted((a, b) => a - b);
    process.stdout.write(
      `from publishing to taking: p50 ${sorted[10]?.toFixed(1)} ms, most ${sorted.at(-1)?.toFixed(1)} ms\n`,
    );
    expect(sorted[10]).toBeLessThan(50);
    await publish(subjectOf('background', 2), 1, { tells: true });
    await until('one in the background as well', () => taken() === 21, { intervalMs: 1 });
    counter.unsubscribe();
  });
});

test('of 2,000 jobs none is lost or delivered twice', async () => {
  const counts = new Map<string, number>();
  const work = async (message: PulledMessage) => {
    counts.set(uuidOf(message), (counts.get(uuidOf(message)) ?? 0) + 1);
    await sleep(Math.random() * 5);
  };
  for (let count = 0; count < 8; count++) new Pod(await connect(), 4, work);
  const queue = async () => {
    for (let round = 0; round < 10; round++) {
      await Promise.all([
        publish(interactive, 100),
        publish(subjectOf('background', round % backgroundShards), 100, { tells: true }),
      ]);
    }
  };
  await queue();
  await until(
    'all to be done',
    async () => (await nats.session.jsm.streams.info(streamNames.captures)).state.messages === 0,
  );
  expect(counts.size).toBe(2000);
  expect([...counts.values()].filter((count) => count !== 1)).toEqual([]);
});

describe('a job for which there is no slot', () => {
  async function start(session: NatsSession, options: TestRendererOptions): Promise<TestRenderer> {
    const renderer = new TestRenderer(session, options);
    renderers.push(renderer);
    return renderer;
  }

  test('is given back without using up a delivery', async () => {
    const queue = new TestQueue(nats.session);
    const renderer = await start(await connect(), { render: rendersIn(60_000) });
    await until('it to wait', async () => (await consumer('interactive')).num_waiting === 1);
    // The request for an interactive one is still at the server when its slot is taken.
    await queue.publish({ lane: 'background' });
    await until('it to be rendered', () => renderer.rendered.length === 1);
    const job = await queue.publish();
    await until('it to be given back', async () => (await queue.outcomes()).length === 1);
    expect(await queue.outcomes()).toEqual([{ kind: 'returned', reason: 'no_free_slot' }]);
    await until('it to be out of the queue', async () => (await queue.queued()) === 1);
    await queue.jobs.publish(job, { attempt: '2' });
    const other = await start(await connect(), {});
    await until('another one to render it', () => other.taken.some((message) => uuidOf(message) === job.uuid));
    expect(other.taken.find((message) => uuidOf(message) === job.uuid)?.delivery).toBe(1);
  });

  test('because the browser is gone is given back, too', async () => {
    const queue = new TestQueue(nats.session);
    let isUp = true;
    const renderer = await start(await connect(), { ready: () => isUp });
    await until('it to wait', async () => (await consumer('interactive')).num_waiting === 1);
    isUp = false;
    await queue.publish();
    await until('it to be given back', async () => (await queue.outcomes()).length === 1);
    expect(renderer.rendered).toHaveLength(0);
    isUp = true;
    await queue.publish();
    await until('the next one to be rendered', () => renderer.rendered.length === 1);
  });
});

test('a server that is killed and starts again delivers jobs again, of both lanes', async () => {
  await using own = await startTestNats(['us-east']);
  const pod = new Pod(await connect(own), 2);
  await publish(interactive, 1, { server: own });
  await pod.take(1);
  await own.kill();
  await until('the connection to be lost', () => !pod.session.connected());
  await own.start();
  await until('the test to be connected', () => own.session.connected() && pod.session.connected());
  // Nobody tells of this one: whoever has connected again looks everywhere.
  await publish(subjectOf('background', 5), 1, { server: own });
  const another = new Pod(await connect(own), 2);
  const taken = () => [...pod.taken, ...another.taken].map(({ message }) => message.subject);
  await until('the one in the background', () => taken().includes(subjectOf('background', 5)));
  pod.taken[0]?.end();
  await publish(interactive, 3, { server: own });
  await until('new ones', () => taken().filter((subject) => subject === interactive).length >= 3);
  pod.close();
  another.close();
});

test('what was queued while a renderer had no connection is found without a signal', async () => {
  await using own = await startTestNats(['us-east']);
  const pod = new Pod(await connect(own), 1);
  await until('it to wait', async () => {
    const info = await own.session.jsm.consumers.info(streamNames.captures, captureDurable('us-east', 'interactive'));
    return info.num_waiting === 1;
  });
  await sleep(300);
  // Without a signal it would look again in a minute.
  await publish(subjectOf('background', 1), 1, { server: own });
  await own.restart();
  await until('the job', () => pod.taken.length === 1);
  pod.close();
});

test('a consumer that is removed and made anew is asked again', async () => {
  await using own = await startTestNats(['us-east']);
  const { jsm } = own.session;
  const pod = new Pod(await connect(own), 1);
  await publish(interactive, 1, { server: own });
  await pod.take(1);
  pod.taken[0]?.end();
  for (const durable of [captureDurable('us-east', 'interactive'), captureDurable('us-east', 'background', 0)]) {
    await jsm.consumers.delete(streamNames.captures, durable);
  }
  await publish(interactive, 1, { server: own });
  await provision(jsm, streamSettings, ['us-east']);
  await until('the next job', () => pod.taken.length === 2);
  pod.taken[1]?.end();
  await publish(subjectOf('background', 0), 1, { tells: true, server: own });
  await until('one in the background', () => pod.taken.length === 3);
  pod.close();
});
