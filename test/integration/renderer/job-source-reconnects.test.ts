import { test } from 'vitest';
import { captureDurable, streamNames } from '@webcapture/shared/nats/streams.ts';
import { provision } from '../../../services/controller/streams.ts';
import { streamSettings } from '../../harness/nats-session.ts';
import { until } from '../../harness/until.ts';
import { interactive, subjectOf, usePods } from './support/pods.ts';

const { nats, startPod, publish, untilIdle } = usePods();

test('a server that is killed and restarted delivers jobs of both priorities again', { tags: 'long' }, async () => {
  const pod = await startPod(2);
  await publish(interactive, 1);
  await pod.take(1);
  await nats().kill();
  await until('the connection to be lost', () => !pod.session.connected());
  await nats().start();
  await until('the test to be connected', () => nats().session.connected() && pod.session.connected());
  // No signal is sent for this job: after a reconnect, a renderer requests jobs of every shard.
  await publish(subjectOf('background', 5), 1);
  const another = await startPod(2);
  const taken = () => [...pod.taken, ...another.taken].map(({ message }) => message.subject);
  await until('the one in the background', () => taken().includes(subjectOf('background', 5)));
  pod.taken[0]?.end();
  await publish(interactive, 3);
  await until('new ones', () => taken().filter((subject) => subject === interactive).length >= 3);
});

test('a job that was queued while a renderer was disconnected is found without a signal', async () => {
  const pod = await startPod(1);
  await untilIdle();
  await publish(subjectOf('background', 1), 1);
  await nats().restart();
  // Without a signal, the renderer would request jobs again after a minute.
  await until('the job', () => pod.taken.length === 1, { deadlineMs: 30_000 });
});

test('a consumer that is deleted and recreated receives requests again', async () => {
  const { jsm } = nats().session;
  const pod = await startPod(1);
  await publish(interactive, 1);
  await pod.take(1);
  pod.taken[0]?.end();
  for (const durable of [captureDurable('us-east', 'interactive'), captureDurable('us-east', 'background', 0)]) {
    await jsm.consumers.delete(streamNames.captures, durable);
  }
  await publish(interactive, 1);
  await provision(jsm, streamSettings, ['us-east']);
  await until('the next job', () => pod.taken.length === 2);
  pod.taken[1]?.end();
  await publish(subjectOf('background', 0), 1, { isSignaled: true });
  await until('one in the background', () => pod.taken.length === 3);
});
