import { afterAll, beforeAll, expect, test } from 'vitest';
import { closeNats } from '@webcapture/shared/nats/connect.ts';
import { startTestNats, type TestNats } from '../../harness/nats-session.ts';
import { until } from '../../harness/until.ts';

let nats: TestNats;
beforeAll(async () => {
  nats = await startTestNats(['us-east']);
});
afterAll(() => nats[Symbol.asyncDispose]());

test('pending messages are sent before the connection closes', async () => {
  const session = await nats.connect();
  const heard = new Promise<string>((resolve) => {
    nats.session.nc.subscribe('last.word', { callback: (_, message) => resolve(message.string()) });
  });
  await nats.session.nc.flush();
  session.nc.publish('last.word', 'bye');
  await closeNats(session);
  expect(await heard).toBe('bye');
  expect(session.nc.isClosed()).toBe(true);
});

test('a connection whose server was killed closes at once', async () => {
  const session = await nats.connect();
  await nats.kill();
  await until('the loss to be noticed', () => !session.connected());
  const start = performance.now();
  await closeNats(session);
  // A drain without a server times out after 5 s.
  expect(performance.now() - start).toBeLessThan(4500);
  expect(session.nc.isClosed()).toBe(true);
  await nats.start();
});
