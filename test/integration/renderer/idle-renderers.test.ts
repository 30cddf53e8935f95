import { headers, type NatsConnection } from '@nats-io/nats-core';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { backgroundShards, captureDurable, streamNames } from '@webcapture/shared/nats/streams.ts';
import { until } from '../../harness/until.ts';
import { interactive, subjectOf, usePods } from './support/pods.ts';

const { nats, connect, startPod, publish, untilIdle } = usePods();

afterEach(() => {
  vi.useRealTimers();
});

/** Requests of a renderer at its start: one for each durable, then one that waits for interactive jobs. */
const requestsAtStart = backgroundShards + 2;

/** A renderer renews its waiting request each minute. */
const idleSeconds = 55;

const heartbeatSeconds = 5;

/** Renderers that start from now on use the fake timers. Existing connections use real timers. */
function fakeTimers(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] });
}

/** Counts pull requests for a durable, by default for all. */
async function countRequests(durable = '>') {
  const requests: string[] = [];
  /** Reply subjects of the requests that wait at the server. */
  const waiting = new Set<string>();
  const prefix = '$JS.API.CONSUMER.MSG.NEXT';
  const { nc } = nats().session;
  const subscription = nc.subscribe(durable === '>' ? `${prefix}.>` : `${prefix}.${streamNames.captures}.${durable}`, {
    callback: (_, message) => {
      requests.push(message.subject);
      if (message.json<{ no_wait?: boolean }>().no_wait !== true) waiting.add(message.reply ?? '');
    },
  });
  await nc.flush();
  return { requests, waiting, [Symbol.dispose]: () => subscription.unsubscribe() };
}

/**
 * Advances the clock of idle renderers second by second. In between they receive messages. The server uses real time,
 * so that this function sends the heartbeats that a server sends every 5 s for a waiting request.
 */
async function passTime(seconds: number, connections: readonly NatsConnection[], waiting: ReadonlySet<string>) {
  const { nc } = nats().session;
  for (let second = 1; second <= seconds; second++) {
    if (second % heartbeatSeconds === 0) {
      for (const reply of waiting) nc.publish(reply, '', { headers: headers(100, 'Idle Heartbeat') });
      await nc.flush();
    }
    // Each flush returns after all messages of the connection have arrived, in both directions.
    await Promise.all(connections.map((connection) => connection.flush()));
    vi.advanceTimersByTime(1000);
  }
  await Promise.all(connections.map((connection) => connection.flush()));
  await nc.flush();
}

describe('an idle renderer', () => {
  test.each([1, 4, 16])(
    'with %i slots sends no request while its first one waits at the server, and has one subscription for responses',
    async (slots) => {
      using counter = await countRequests();
      const { requests, waiting } = counter;
      const session = await connect();
      const inboxes = subscriptionsOf(session);
      fakeTimers();
      await startPod(slots, { session });
      await untilIdle();
      await passTime(0, [session.nc], waiting);
      // At the start, one slot requests jobs of each durable for all slots.
      expect(requests).toHaveLength(requestsAtStart);
      expect(waiting.size).toBe(1);
      await passTime(idleSeconds, [session.nc], waiting);
      expect(requests).toHaveLength(requestsAtStart);
      expect(inboxes).toHaveLength(1);
    },
  );

  function subscriptionsOf(session: NatsSession): readonly string[] {
    const subscribe = session.nc.subscribe.bind(session.nc);
    const inboxes: string[] = [];
    session.nc.subscribe = (subject, options) => {
      if (!subject.startsWith('signals.')) inboxes.push(subject);
      return subscribe(subject, options);
    };
    return inboxes;
  }
});

test('a signal makes one slot of an idle renderer request jobs, and more slots if there are more jobs', async () => {
  using counter = await countRequests(captureDurable('us-east', 'background', 4));
  const { requests } = counter;
  const pod = await startPod(16);
  await untilIdle();
  const flush = async () => {
    await pod.session.nc.flush();
    await nats().session.nc.flush();
  };
  await flush();
  requests.length = 0;
  await publish(subjectOf('background', 4), 1, { isSignaled: true });
  await pod.take(1);
  await flush();
  // A busy machine may have sent the second request already.
  expect(requests.length).toBeLessThanOrEqual(2);
  await publish(subjectOf('background', 4), 30, { isSignaled: true });
  await until('all slots to work', () => pod.taken.length === 16);
});

describe('a hundred idle renderers', () => {
  test('send no request while their first ones wait at the server, and one of them gets a job at once', async () => {
    using counter = await countRequests();
    const { requests, waiting } = counter;
    const sessions = await Promise.all(Array.from({ length: 100 }, () => connect()));
    const connections = sessions.map(({ nc }) => nc);
    fakeTimers();
    const pods = await Promise.all(sessions.map((session) => startPod(4, { session })));
    await untilIdle(100);
    await passTime(0, connections, waiting);
    expect([requests.length, waiting.size]).toEqual([100 * requestsAtStart, 100]);
    await passTime(15, connections, waiting);
    expect(requests).toHaveLength(100 * requestsAtStart);
    vi.useRealTimers();
    const taken = () => pods.reduce((sum, pod) => sum + pod.taken.length, 0);
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
    await publish(subjectOf('background', 2), 1, { isSignaled: true });
    await until('one in the background as well', () => taken() === 21, { intervalMs: 1 });
  });
});
