import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { PermissionViolationError } from '@nats-io/nats-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test, vi } from 'vitest';
import { connectNats, type NatsSession } from '@webcapture/shared/nats/connect.ts';
import { type PulledMessage, PullInbox } from '@webcapture/shared/nats/pull-inbox.ts';
import { ConsumerMissingError, type PullOptions, PullSubscription } from '@webcapture/shared/nats/pull.ts';
import { captureDurable, captureSubject, streamNames } from '@webcapture/shared/nats/streams.ts';
import { startNats } from '../../../deploy/local/nats.ts';
import { silentLog, startTestNats, streamSettings, type TestNats } from '../../harness/nats-session.ts';
import { StallingProxy } from '../../harness/stalling-proxy.ts';
import { until } from '../../harness/until.ts';
import { provision } from '../../../services/controller/streams.ts';

const stream = streamNames.captures;
const durable = captureDurable('us-east', 'interactive');
const subject = captureSubject('us-east', 'interactive');

let nats: TestNats;
beforeAll(async () => {
  nats = await startTestNats(['us-east']);
});
afterAll(() => nats[Symbol.asyncDispose]());
beforeEach(() => nats.session.jsm.streams.purge(stream));

const inboxes: PullInbox[] = [];
const sessions: NatsSession[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const inbox of inboxes.splice(0)) inbox.close();
  await Promise.all(sessions.splice(0).map(({ nc }) => nc.close()));
});

async function connectTo(url: string, user?: string): Promise<NatsSession> {
  const signal = AbortSignal.timeout(30_000);
  const login = user === undefined ? {} : { user, password: user };
  const session = await connectNats({
    url,
    name: 'test',
    inboxPrefix: '_INBOX.test',
    log: silentLog,
    signal,
    ...login,
  });
  sessions.push(session);
  return session;
}

function inboxOf(session: NatsSession): PullInbox {
  const inbox = new PullInbox(session);
  inboxes.push(inbox);
  return inbox;
}

const textOf = ({ data }: PulledMessage) => new TextDecoder().decode(data);

/** A pull subscription, with the messages and problems that it receives. */
function pulling(inbox: PullInbox, options: Partial<PullOptions> = {}) {
  const came: PulledMessage[] = [];
  const problems: Error[] = [];
  const subscription = new PullSubscription(inbox, {
    stream,
    durable,
    onMessage: (message) => came.push(message),
    onProblem: (error) => problems.push(error),
    ...options,
  });
  return { subscription, came, problems, texts: () => came.map(textOf) };
}

/** Fakes the timers of subscriptions from now on, but not those of the server and the connections. */
const fakeTimers = () =>
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] });

const publish = (text: string) => nats.session.js.publish(subject, text);
const consumer = () => nats.session.jsm.consumers.info(stream, durable);
/** The server counts a stored message as pending shortly after it has acknowledged it. */
const isPending = (count: number) => async () => (await consumer()).num_pending === count;

describe('requests', () => {
  test('bring as many messages as were requested, and count how many are outstanding', async () => {
    const { subscription, came, texts } = pulling(inboxOf(await connectTo(nats.url)));
    subscription.request(1);
    subscription.request(2);
    expect(subscription.outstanding).toBe(3);
    for (const text of ['a', 'b', 'c', 'd']) await publish(text);
    await until('three to come', () => came.length === 3);
    expect([texts(), subscription.outstanding]).toEqual([['a', 'b', 'c'], 0]);
    await until('the fourth to be pending', isPending(1));
    subscription.request(1);
    await until('the fourth', () => came.length === 4);
    expect(came.map(({ delivery }) => delivery)).toEqual([1, 1, 1, 1]);
    await Promise.all(came.map((message) => message.ack()));
    expect((await consumer()).num_ack_pending).toBe(0);
  });

  test('bring the time at which a message was stored, and the number of messages behind it', async () => {
    const before = Date.now();
    for (const text of ['a', 'b', 'c']) await publish(text);
    const after = Date.now();
    const { subscription, came } = pulling(inboxOf(await connectTo(nats.url)));
    subscription.request(3);
    await until('all to come', () => came.length === 3);
    expect(came.map(({ pending }) => pending)).toEqual([2, 1, 0]);
    for (const { timestamp } of came) {
      expect(timestamp).toBeGreaterThanOrEqual(before - 1);
      expect(timestamp).toBeLessThanOrEqual(after + 1);
    }
  });

  test('that are made together are sent as one, and separate requests are renewed as one', async () => {
    const session = await connectTo(nats.url);
    const expiresMs = 1500;
    const { subscription, came } = pulling(inboxOf(session), { expiresMs });
    const sent = () => session.nc.stats().outMsgs;
    const [before, start] = [sent(), performance.now()];
    subscription.request(1);
    subscription.request(1);
    await until('one to wait', async () => (await consumer()).num_waiting === 1);
    expect(sent() - before).toBe(1);
    for (let more = 2; more <= 4; more++) {
      subscription.request(1);
      await until('another to wait', async () => (await consumer()).num_waiting === more);
    }
    await until('them to be renewed as one', async () => sent() - before > 4 && (await consumer()).num_waiting === 1);
    // There are four requests and some renewals, whose number depends on the time taken.
    const renewals = Math.ceil((performance.now() - start) / expiresMs);
    expect(sent() - before).toBeLessThanOrEqual(4 + renewals + 1);
    expect(subscription.outstanding).toBe(5);
    for (const text of ['a', 'b', 'c', 'd', 'e', 'f']) await publish(text);
    await until('five to come', () => came.length === 5);
    await until('the sixth to be pending', isPending(1));
    expect(subscription.outstanding).toBe(0);
  });

  test('of an idle subscription are not repeated while the server sends heartbeats', async () => {
    const session = await connectTo(nats.url);
    const { subscription } = pulling(inboxOf(session), { heartbeatMs: 250 });
    const sent = () => session.nc.stats().outMsgs;
    const [before, heard] = [sent(), session.nc.stats().inMsgs];
    subscription.request(8);
    await until('four heartbeats of the server', () => session.nc.stats().inMsgs >= heard + 4);
    expect(sent() - before).toBe(1);
  });

  test('for several durable consumers share one NATS subscription', async () => {
    const session = await connectTo(nats.url);
    const inbox = inboxOf(session);
    const shards = [0, 1, 2, 3].map((shard) => {
      const pulled = pulling(inbox, { durable: captureDurable('us-east', 'background', shard) });
      pulled.subscription.request(1);
      return pulled;
    });
    await nats.session.js.publish(captureSubject('us-east', 'background', 2), 'two');
    await until('the message to come', () => shards[2]?.came.length === 1);
    expect(shards.map(({ came }) => came.length)).toEqual([0, 0, 1, 0]);
    const { subscriptions } = (session.nc as unknown as { protocol: { subscriptions: { all(): unknown[] } } }).protocol;
    expect(subscriptions.all()).toHaveLength(1);
  });
});

describe('a late message', () => {
  test('because the connection stalled is delivered once', async () => {
    using proxy = await StallingProxy.to(nats.url);
    const session = await connectTo(proxy.url);
    fakeTimers();
    const { subscription, came } = pulling(inboxOf(session));
    subscription.request(1);
    await until('the request to wait', async () => (await consumer()).num_waiting === 1);
    proxy.hold();
    await publish('late');
    vi.advanceTimersByTime(4000);
    proxy.release();
    await until('the message', () => came.length === 1);
    await came[0]?.ack();
    expect([came[0]?.delivery, (await nats.session.jsm.streams.info(stream)).state.messages]).toEqual([1, 0]);
    expect(came).toHaveLength(1);
  });

  test('of a poll that timed out goes to onMessage', async () => {
    using proxy = await StallingProxy.to(nats.url);
    const session = await connectTo(proxy.url);
    fakeTimers();
    const { subscription, came } = pulling(inboxOf(session));
    await publish('late');
    proxy.hold();
    const polled = subscription.poll(500);
    vi.advanceTimersByTime(500);
    await expect(polled).rejects.toThrow('timed out after 500 ms');
    vi.advanceTimersByTime(3000);
    proxy.release();
    await until('the message', () => came.length === 1);
    await came[0]?.ack();
    expect([came[0]?.delivery, (await nats.session.jsm.streams.info(stream)).state.messages]).toEqual([1, 0]);
  });

  test('because the process was blocked is delivered once', async () => {
    const { subscription, came } = pulling(inboxOf(await connectTo(nats.url)));
    subscription.request(1);
    await until('the request to wait', async () => (await consumer()).num_waiting === 1);
    await publish('late');
    const polled = subscription.poll(100).catch(() => null);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400);
    // Either the poll or the request may get the message.
    const message = await polled;
    if (message !== null) came.push(message);
    await until('the message', () => came.length === 1);
    await came[0]?.ack();
    expect([came[0]?.delivery, (await nats.session.jsm.streams.info(stream)).state.messages]).toEqual([1, 0]);
  });
});

describe('requests that are lost', () => {
  test('with the connection are repeated', async () => {
    const { subscription, came, texts } = pulling(inboxOf(await connectTo(nats.url)));
    subscription.request(2);
    await publish('before');
    await until('the first', () => came.length === 1);
    await came[0]?.ack();
    await nats.restart();
    expect(subscription.outstanding).toBe(1);
    // A message that is sent while the server loads its streams gets no response.
    await until('the server to be back', () =>
      nats.session.js.publish(subject, 'after', { msgID: 'after', timeout: 500 }),
    );
    await until('the second', () => came.length === 2);
    expect([texts(), subscription.outstanding]).toEqual([['before', 'after'], 0]);
    await came[1]?.ack();
  });

  test('on the way to the server are repeated', async () => {
    using proxy = await StallingProxy.to(nats.url);
    const session = await connectTo(proxy.url);
    const { subscription, came, problems } = pulling(inboxOf(session), { heartbeatMs: 300 });
    await session.nc.flush();
    proxy.lose();
    subscription.request(1);
    await until('the request to be lost', () => proxy.lost.some((sent) => sent.includes('CONSUMER.MSG.NEXT')));
    proxy.release();
    await publish('asked for again');
    await until('the message', () => came.length === 1);
    expect(problems.map(({ message }) => message)).toEqual([expect.stringContaining('no heartbeat came')]);
    await came[0]?.ack();
  });

  test('with the consumer are repeated when it exists again, and the problem is reported once', async () => {
    const session = await connectTo(nats.url);
    fakeTimers();
    const { subscription, came, problems } = pulling(inboxOf(session));
    subscription.request(1);
    await until('the request to wait', async () => (await consumer()).num_waiting === 1);
    await nats.session.jsm.consumers.delete(stream, durable);
    await until('the problem to be told', () => problems.length === 1);
    expect(problems[0]).toBeInstanceOf(ConsumerMissingError);
    await expect(subscription.poll()).rejects.toBeInstanceOf(ConsumerMissingError);
    const sent = session.nc.stats().outMsgs;
    const advance = async () => {
      await session.nc.flush();
      vi.advanceTimersByTime(1000);
    };
    await until('several attempts', async () => {
      await advance();
      return session.nc.stats().outMsgs >= sent + 5;
    });
    await provision(nats.session.jsm, streamSettings, ['us-east']);
    await publish('at last');
    await until('the message', async () => {
      await advance();
      return came.length === 1;
    });
    expect([problems.length, subscription.outstanding]).toEqual([1, 0]);
    await came[0]?.ack();
  });
});

test('messages for a closed subscription go to the next one, and other subscriptions continue', async () => {
  const inbox = inboxOf(await connectTo(nats.url));
  const other = pulling(inbox, { durable: captureDurable('us-east', 'background', 1) });
  other.subscription.request(1);
  const former = pulling(inbox);
  former.subscription.request(5);
  await until('the request to wait', async () => (await consumer()).num_waiting === 1);
  former.subscription.close();
  expect(former.subscription.outstanding).toBe(0);
  await until('the server to have forgotten it', async () => (await consumer()).num_waiting === 0);
  await publish('for the next');
  await nats.session.js.publish(captureSubject('us-east', 'background', 1), 'for the other');
  const next = pulling(inbox);
  next.subscription.request(1);
  await until('both to come', () => next.came.length === 1 && other.came.length === 1);
  expect([former.came.length, next.came[0]?.delivery, other.came[0]?.delivery]).toEqual([0, 1, 1]);
  await next.came[0]?.ack();
});

test('a second subscription to the same durable consumer is refused', async () => {
  const inbox = inboxOf(await connectTo(nats.url));
  const { subscription } = pulling(inbox);
  expect(() => pulling(inbox)).toThrow('messages of CAPTURES/us-east-interactive are already being pulled');
  subscription.close();
  pulling(inbox).subscription.close();
});

describe('a poll', () => {
  test('returns at once, with or without a message', async () => {
    const { subscription, came } = pulling(inboxOf(await connectTo(nats.url)));
    expect(await subscription.poll()).toBeNull();
    await publish('now');
    const message = await subscription.poll();
    expect(message === null ? null : textOf(message)).toBe('now');
    await message?.ack();
    expect([came.length, subscription.outstanding]).toEqual([0, 0]);
  });

  test('during requests loses no message and takes none twice', async () => {
    const session = await connectTo(nats.url);
    const { subscription, came } = pulling(inboxOf(session));
    subscription.request(20);
    const polled: PulledMessage[] = [];
    for (let round = 0; round < 20; round++) {
      const [message] = await Promise.all([subscription.poll(), publish(`${round}`)]);
      if (message !== null) polled.push(message);
    }
    await until('all to come', () => came.length + polled.length === 20);
    expect(new Set([...came, ...polled].map(textOf)).size).toBe(20);
    expect([...came, ...polled].every(({ delivery }) => delivery === 1)).toBe(true);
    await session.nc.flush();
    // Exactly as many messages arrive as are outstanding.
    const [left, before] = [subscription.outstanding, came.length];
    for (let more = 0; more <= left; more++) await publish(`more ${more}`);
    await until('the rest to come', () => came.length === before + left);
    await session.nc.flush();
    await until('one more to be pending', isPending(1));
    expect(came).toHaveLength(before + left);
    await Promise.all([...came, ...polled].map((message) => message.ack()));
  });
});

test('a user without the right to pull gets a PermissionViolationError', async () => {
  const dataDir = await mkdtemp(join(inject('tempFolder'), 'nats-'));
  const users = [
    { user: 'admin', password: 'admin' },
    {
      user: 'poor',
      password: 'poor',
      permissions: { publish: { allow: ['$JS.ACK.>'] }, subscribe: { allow: ['_INBOX.test.>'] } },
    },
    { user: 'deaf', password: 'deaf', permissions: { subscribe: { allow: ['nothing'] } } },
  ];
  const config = `authorization: ${JSON.stringify({ users })}`;
  const server = await startNats({ dataDir, toolPath: inject('tools').natsServer, config });
  try {
    const admin = await connectTo(server.url, 'admin');
    await provision(admin.jsm, streamSettings, ['us-east']);
    for (const user of ['poor', 'deaf']) {
      const { subscription, problems } = pulling(inboxOf(await connectTo(server.url, user)));
      subscription.request(1);
      await until(`${user} to be told`, () => problems.length > 0);
      expect(problems[0]).toBeInstanceOf(PermissionViolationError);
    }
    const poor = pulling(inboxOf(await connectTo(server.url, 'poor')), { durable: 'another' });
    await expect(poor.subscription.poll()).rejects.toBeInstanceOf(PermissionViolationError);
  } finally {
    for (const inbox of inboxes.splice(0)) inbox.close();
    await Promise.all(sessions.splice(0).map(({ nc }) => nc.close()));
    await server.process.stop({ graceMs: 0 });
    await rm(dataDir, { recursive: true, force: true });
  }
});
