import { randomUUIDv7 } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { connectNats, type NatsSession } from '@webcapture/shared/nats/connect.ts';
import type { PulledMessage } from '@webcapture/shared/nats/pull-inbox.ts';
import {
  captureDurable,
  captureSubject,
  type Priority,
  signalSubject,
  streamNames,
} from '@webcapture/shared/nats/streams.ts';
import { JobSource } from '../../../../services/renderer/worker/job-source.ts';
import { Slots } from '../../../../services/renderer/worker/slots.ts';
import { silentLog, startTestNats, type TestNats } from '../../../harness/nats-session.ts';
import { until } from '../../../harness/until.ts';

const region = 'us-east';

interface Taken {
  readonly message: PulledMessage;
  /** Ends the job, which frees its slot. */
  readonly end: () => void;
}

/** Takes jobs of a region. Each job keeps its slot until the test ends it, unless `work` is set. */
class Pod {
  readonly taken: Taken[] = [];
  readonly session: NatsSession;
  readonly #slots: Slots;
  readonly #source: JobSource;
  readonly #working = new Set<NodeJS.Timeout>();

  constructor(session: NatsSession, slots: number, work?: (message: PulledMessage) => Promise<void>) {
    this.session = session;
    this.#slots = new Slots({
      count: slots,
      run: (message) => {
        const { promise, resolve } = Promise.withResolvers<void>();
        const working = setInterval(() => message.working(), 1500);
        this.#working.add(working);
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
  }

  /** Takes jobs, ends each at once, and returns their subjects in order. */
  async take(count: number): Promise<string[]> {
    for (let index = 0; index < count; index++) {
      const { end } = await until(`job ${index}`, () => this.taken[index], { intervalMs: 2 });
      if (index < count - 1) end();
    }
    return this.taken.slice(0, count).map(({ message }) => message.subject);
  }

  /** Call it before its connection is closed. */
  close(): void {
    this.#source.close();
    for (const working of this.#working) clearInterval(working);
    for (const { end } of this.taken) end();
  }
}

export const subjectOf = (priority: Priority, shard = 0) => captureSubject(region, priority, shard);
export const interactive = subjectOf('interactive');

const job = () => JSON.stringify({ version: 2, uuid: randomUUIDv7() });

/** Gives the tests of a file pods on its own server. The queues are empty before each test. */
export function usePods() {
  let nats: TestNats;
  const pods: Pod[] = [];
  const sessions: NatsSession[] = [];
  beforeAll(async () => {
    nats = await startTestNats([region]);
  });
  afterAll(() => nats[Symbol.asyncDispose]());
  beforeEach(async () => {
    // After a restart, the server may still be reading its streams.
    await until('empty queues', async () => {
      await nats.session.jsm.streams.purge(streamNames.captures);
      await nats.session.jsm.streams.purge(streamNames.results);
      return true;
    });
  });
  afterEach(async () => {
    for (const pod of pods.splice(0)) pod.close();
    await Promise.all(sessions.splice(0).map(({ nc }) => nc.close()));
  });

  async function connect(): Promise<NatsSession> {
    const { url } = nats;
    const session = await connectNats({ url, name: 'pod', log: silentLog, signal: AbortSignal.timeout(30_000) });
    sessions.push(session);
    return session;
  }

  /** Starts a pod on a connection, by default its own. */
  async function startPod(slots: number, { session, work }: PodOptions = {}): Promise<Pod> {
    const pod = new Pod(session ?? (await connect()), slots, work);
    pods.push(pod);
    return pod;
  }

  /** Queues jobs concurrently, and sends a signal if `isSignaled` is set. */
  async function publish(subject: string, count: number, { isSignaled = false } = {}): Promise<void> {
    const { js, nc } = nats.session;
    for (let left = count; left > 0; left -= 500) {
      const batch = Array.from({ length: Math.min(500, left) }, () => js.publish(subject, job(), { timeout: 20_000 }));
      await Promise.all(batch);
    }
    const shard = Number(subject.split('.')[3]);
    if (isSignaled) nc.publish(signalSubject(region), JSON.stringify({ shards: [shard] }));
  }

  const consumer = (priority: Priority, shard = 0) =>
    nats.session.jsm.consumers.info(streamNames.captures, captureDurable(region, priority, shard));

  /** Waits until `count` pods wait for interactive jobs. By then, each has requested jobs of every durable once. */
  const untilIdle = (count = 1) =>
    until(`${count} to wait`, async () => (await consumer('interactive')).num_waiting >= count);

  return { nats: () => nats, connect, startPod, publish, consumer, untilIdle };
}

interface PodOptions {
  readonly session?: NatsSession;
  readonly work?: (message: PulledMessage) => Promise<void>;
}
