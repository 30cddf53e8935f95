import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { PulledMessage } from '@webcapture/shared/nats/pull-inbox.ts';
import { backgroundShards, captureDurable, signalSubject, streamNames } from '@webcapture/shared/nats/streams.ts';
import { until } from '../../harness/until.ts';
import { interactive, subjectOf, usePods } from './support/pods.ts';
import { uuidOf } from './support/renderer.ts';

const { nats, startPod, publish, consumer, untilIdle } = usePods();

describe('jobs are taken in this order:', () => {
  test('interactive before background, except every eighth job', async () => {
    await publish(interactive, 40);
    await publish(subjectOf('background', 0), 40);
    const taken = await (await startPod(1)).take(24);
    expect(taken.filter((subject) => subject !== interactive)).toHaveLength(3);
    expect(taken.slice(0, 7)).toEqual(Array(7).fill(interactive));
  });

  test('background jobs alternate between accounts', async () => {
    await publish(subjectOf('background', 2), 30);
    await publish(subjectOf('background', 5), 3);
    const taken = await (await startPod(1)).take(6);
    expect(taken.map((subject) => Number(subject.split('.')[3])).toSorted((a, b) => a - b)).toEqual([2, 2, 2, 5, 5, 5]);
    for (const pair of [taken.slice(0, 2), taken.slice(2, 4), taken.slice(4)]) expect(new Set(pair).size).toBe(2);
  });

  test('behind ten thousand jobs of one account, jobs of others come after at most one that is running', async () => {
    await publish(subjectOf('background', 3), 10_000);
    const pod = await startPod(1);
    await pod.take(5);
    // The jobs are published while the fifth job is running.
    await publish(subjectOf('background', 6), 1, { isSignaled: true });
    await publish(interactive, 1);
    await until('both to wait', async () => {
      const waiting = [await consumer('interactive'), await consumer('background', 6)];
      return waiting.every(({ num_pending }) => num_pending === 1);
    });
    await pod.session.nc.flush();
    pod.taken[4]?.end();
    const taken = (await pod.take(8)).slice(5);
    // The eighth job may be among these.
    expect(taken.slice(0, 2)).toContain(interactive);
    expect(taken.slice(0, 3)).toContain(subjectOf('background', 6));
  });
});

test.each(['waited before the renderer asked', 'comes while the renderer waits'])(
  'an interactive job that %s sets the clock of the server',
  async (when) => {
    if (when === 'waited before the renderer asked') await publish(interactive, 1);
    const pod = await startPod(1);
    if (when === 'comes while the renderer waits') {
      await untilIdle();
      await publish(interactive, 1);
    }
    await pod.take(1);
    expect(pod.session.clock.isKnown).toBe(true);
  },
);

test('a signal that arrives during a request for its shard is not lost', async () => {
  const pod = await startPod(1);
  await untilIdle();
  for (let round = 0; round < 50; round++) {
    // The first signal starts a request that finds no job. The second job may be published just after it.
    nats().session.nc.publish(signalSubject('us-east'), '{"shards":[1]}');
    await publish(subjectOf('background', 1), 1, { isSignaled: true });
    const { end } = await until(`job ${round}`, () => pod.taken[round], { deadlineMs: 30_000, intervalMs: 1 });
    end();
  }
});

test('a job that the server counts only after its response "no jobs" is found', async () => {
  const pod = await startPod(1);
  await untilIdle();
  const looked = new Promise<void>((resolve) => {
    const durable = captureDurable('us-east', 'background', 3);
    nats().session.nc.subscribe(`$JS.API.CONSUMER.MSG.NEXT.${streamNames.captures}.${durable}`, {
      max: 1,
      callback: () => resolve(),
    });
  });
  await nats().session.nc.flush();
  nats().session.nc.publish(signalSubject('us-east'), '{"shards":[3]}');
  await looked;
  // In production, the server counts a job late. Here the signal is early, which has the same effect.
  await publish(subjectOf('background', 3), 1);
  // Without a signal, the renderer would request jobs again after a minute.
  await until('the job', () => pod.taken.length === 1, { deadlineMs: 30_000 });
});

test('a malformed signal is ignored', async () => {
  const pod = await startPod(1);
  await untilIdle();
  for (const text of ['', 'null', '{}', '{"shards":[99,-1,"x",null,1e9]}', '{"shards":[],"now":"late"}']) {
    nats().session.nc.publish(signalSubject('us-east'), text);
  }
  await publish(subjectOf('background', 7), 1, { isSignaled: true });
  expect(await pod.take(1)).toEqual([subjectOf('background', 7)]);
  expect(pod.session.clock.isKnown).toBe(false);
});

test('2,000 jobs are each delivered exactly once', { tags: 'long' }, async () => {
  const counts = new Map<string, number>();
  const work = async (message: PulledMessage) => {
    counts.set(uuidOf(message), (counts.get(uuidOf(message)) ?? 0) + 1);
    await sleep(Math.random() * 5);
  };
  for (let count = 0; count < 8; count++) await startPod(4, { work });
  const queue = async () => {
    for (let round = 0; round < 10; round++) {
      await Promise.all([
        publish(interactive, 100),
        publish(subjectOf('background', round % backgroundShards), 100, { isSignaled: true }),
      ]);
    }
  };
  await queue();
  await until(
    'all to be done',
    async () => (await nats().session.jsm.streams.info(streamNames.captures)).state.messages === 0,
  );
  expect(counts.size).toBe(2000);
  expect([...counts.values()].filter((count) => count !== 1)).toEqual([]);
});
