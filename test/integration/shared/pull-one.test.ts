import { afterAll, beforeAll, expect, test } from 'vitest';
import { ConsumerMissingError } from '@webcapture/shared/nats/pull.ts';
import { parseAckSubject } from '@webcapture/shared/nats/pull-inbox.ts';
import { captureDurable, captureSubject, streamNames } from '@webcapture/shared/nats/streams.ts';
import { startTestNats, type TestNats } from '../../harness/nats-session.ts';
import { pullOne } from '../../harness/pull-one.ts';

let nats: TestNats;
beforeAll(async () => {
  nats = await startTestNats(['us-east', 'eu-west']);
});
afterAll(() => nats[Symbol.asyncDispose]());

const stream = streamNames.captures;
const pull = (durable: string, waitMs: number) => pullOne(nats.session.nc, stream, durable, waitMs);

test('an empty queue answers at once if the caller does not wait', async () => {
  const times: number[] = [];
  for (let turn = 0; turn < 3; turn++) {
    const start = performance.now();
    expect(await pull(captureDurable('eu-west', 'interactive'), 0)).toBeNull();
    times.push(performance.now() - start);
  }
  expect(Math.min(...times)).toBeLessThan(900);
});

test('a waiting request gets a message that arrives meanwhile', async () => {
  const waiting = pull(captureDurable('us-east', 'interactive'), 20_000);
  await nats.session.js.publish(captureSubject('us-east', 'interactive'), 'hello');
  const message = await waiting;
  expect(new TextDecoder().decode(message?.data)).toBe('hello');
  expect(message?.delivery).toBe(1);
  await message?.ack();
  const { state } = await nats.session.jsm.streams.info(stream);
  expect(state.messages).toBe(0);
});

test('a request that gets no message in time returns null', async () => {
  expect(await pull(captureDurable('us-east', 'interactive'), 300)).toBeNull();
});

test('a message with a negative acknowledgement is redelivered after its delay', async () => {
  const durable = captureDurable('us-east', 'background', 3);
  await nats.session.js.publish(captureSubject('us-east', 'background', 3), 'again');
  const first = await pull(durable, 20_000);
  const start = performance.now();
  first?.nak(500.123456789);
  const second = await pull(durable, 20_000);
  expect(performance.now() - start).toBeGreaterThan(490);
  expect(second?.delivery).toBe(2);
  await second?.ack();
});

test('a missing durable consumer is distinguished from one without messages', async () => {
  await expect(pull('no-such-durable', 0)).rejects.toBeInstanceOf(ConsumerMissingError);
});

test('parseAckSubject reads both forms of the acknowledgement subject', () => {
  expect(parseAckSubject('$JS.ACK.CAPTURES.us-east-interactive.2.17.5.1700000000000000000.3')).toEqual({
    stream: 'CAPTURES',
    consumer: 'us-east-interactive',
    delivery: 2,
    sequence: 17,
    consumerSequence: 5,
    timestamp: 1_700_000_000_000,
    pending: 3,
  });
  expect(parseAckSubject('$JS.ACK.hub.ACCHASH.CAPTURES.us-east-interactive.3.18.5.1700000000000000000.3.x')).toEqual({
    stream: 'CAPTURES',
    consumer: 'us-east-interactive',
    delivery: 3,
    sequence: 18,
    consumerSequence: 5,
    timestamp: 1_700_000_000_000,
    pending: 3,
  });
});
