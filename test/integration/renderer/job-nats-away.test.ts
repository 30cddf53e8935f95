// @module-tag long
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { ResultPublisher } from '../../../services/renderer/worker/publish-result.ts';
import { startTestNats } from '../../harness/nats-session.ts';
import { until } from '../../harness/until.ts';
import { TestQueue, TestRenderer } from './support/renderer.ts';

/** An outage that is longer than the timeout of one attempt to publish a result. */
const awayMs = 7000;

test('a result that NATS cannot accept for several attempts is published after NATS returns, with its actual age', async () => {
  await using own = await startTestNats(['us-east']);
  const ownQueue = new TestQueue(own.session);
  const session = await own.connect();
  let restarted: Promise<void> | undefined;
  class Cut extends ResultPublisher {
    override async publish(...args: Parameters<ResultPublisher['publish']>): Promise<void> {
      restarted ??= own.kill().then(async () => {
        await sleep(awayMs);
        await own.start();
      });
      await sleep(500);
      return super.publish(...args);
    }
  }
  const renderer = new TestRenderer(session, { results: new Cut(session, 'pod') });
  await ownQueue.publish();
  await until('the result', async () => restarted !== undefined && (await restarted, true));
  await until('the job to be acknowledged', async () => (await ownQueue.queued()) === 0);
  const outcomes = await ownQueue.outcomes();
  expect(outcomes).toMatchObject([{ kind: 'completed' }]);
  expect(outcomes[0]?.kind === 'completed' ? outcomes[0].ageMs : 0).toBeGreaterThan(awayMs);
  await renderer.stop();
});

test('a renderer that stops while NATS is unavailable does not wait for it', async () => {
  await using own = await startTestNats(['us-east']);
  const session = await own.connect();
  class Cut extends ResultPublisher {
    override async publish(...args: Parameters<ResultPublisher['publish']>): Promise<void> {
      await own.kill();
      return super.publish(...args);
    }
  }
  const renderer = new TestRenderer(session, { results: new Cut(session, 'pod') });
  await new TestQueue(own.session).publish();
  await until('the server to be gone', () => !session.connected());
  const start0 = performance.now();
  await renderer.stop(100);
  // One attempt to publish the result takes at most 5 s. A second one would end after 10 s, so there was none.
  expect(performance.now() - start0).toBeLessThan(9500);
  await own.start();
});
