import { randomUUID } from 'node:crypto';
import { afterEach, beforeAll, beforeEach, vi } from 'vitest';
import { connectNats, type NatsSession } from '@webcapture/shared/nats/connect.ts';
import { captureDurable, jobAckWaitMs, streamNames } from '@webcapture/shared/nats/streams.ts';
import { decodeReply, type JobOutcome } from '@webcapture/shared/queue/results.ts';
import type { RenderEngine } from '../../../../services/renderer/page/engine.ts';
import { silentLog, startTestNats, type TestNats } from '../../../harness/nats-session.ts';
import { until } from '../../../harness/until.ts';
import { workerWide } from '../../../harness/worker-wide.ts';
import { TestQueue, TestRenderer, type TestRendererOptions } from './renderer.ts';

const sharedNats = workerWide(
  () => startTestNats(['us-east']),
  async (nats) => nats[Symbol.asyncDispose](),
);

/** Gives the tests of a file renderers of one region, on a shared server whose queues are empty before each test. */
export function useRenderers() {
  let nats: TestNats;
  let queue: TestQueue;
  const renderers: TestRenderer[] = [];
  const sessions: NatsSession[] = [];
  beforeAll(async () => {
    nats = await sharedNats();
    queue = new TestQueue(nats.session);
  });
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

  /** Starts a renderer, by default with its own connection. */
  async function start(options: TestRendererOptions = {}, session?: NatsSession): Promise<TestRenderer> {
    const renderer = new TestRenderer(session ?? (await connect()), options);
    renderers.push(renderer);
    return renderer;
  }

  /** Waits for `count` results and an empty queue, and returns the outcomes of all jobs. */
  const settled = (count: number) =>
    until(`${count} results`, async () => {
      const outcomes = await queue.outcomes();
      return outcomes.length === count && (await queue.queued()) === 0 ? outcomes : undefined;
    });

  /** Shortens the ack wait of interactive jobs for the rest of a test. */
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

  /** Records the replies that a front receives. */
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

  return { nats: () => nats, queue: () => queue, connect, start, settled, shortenAckWait, listen };
}

/** An engine that fails with this error for every page. */
export const failing =
  (error: unknown): RenderEngine['render'] =>
  () =>
    Promise.reject(error);
