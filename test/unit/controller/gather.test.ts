import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectNats, type NatsSession } from '@webcapture/shared/nats/connect.ts';
import { pullOne } from '@webcapture/shared/nats/pull.ts';
import { captureDurable, streamNames } from '@webcapture/shared/nats/streams.ts';
import { Gatherer } from '../../../services/controller/gather/gatherer.ts';
import { readQueue } from '../../../services/controller/gather/read-queue.ts';
import { silentLog, startTestNats, streamSettings, type TestNats } from '../../harness/nats-session.ts';
import { queueCapture } from './support/jobs.ts';
import { TcpGate } from './support/tcp-gate.ts';

let nats: TestNats;
beforeAll(async () => {
  nats = await startTestNats(['us-east', 'eu-west']);
});
afterAll(() => nats[Symbol.asyncDispose]());

const read = (session = nats.session, limitMs = 30_000) =>
  readQueue(session, streamSettings, ['us-east', 'eu-west'], limitMs);

test('counts what waits by lane, not what a renderer holds, and tells how old the oldest is', async () => {
  const { session } = nats;
  for (let index = 0; index < 3; index++) await queueCapture(session);
  await queueCapture(session, { lane: 'background', region: 'eu-west' });
  await new Promise((resolve) => setTimeout(resolve, 100));
  await queueCapture(session, { lane: 'background', region: 'eu-west', unrecorded: true, job: { account: 'other' } });
  expect(
    await pullOne(session.nc, streamNames.captures, captureDurable('us-east', 'interactive'), 5000),
  ).not.toBeNull();
  const age = expect.any(Number) as number;
  const facts = await read();
  expect(facts).toEqual({
    kind: 'answered',
    roundTripMs: expect.any(Number) as number,
    missing: [],
    waiting: {
      'us-east': { interactive: 2, background: 0, oldestInteractiveMs: age, oldestBackgroundMs: null },
      'eu-west': { interactive: 0, background: 2, oldestInteractiveMs: null, oldestBackgroundMs: age },
    },
  });
  if (facts.kind !== 'answered') return;
  // Of two shards it is the older one.
  for (const told of [facts.waiting['us-east']?.oldestInteractiveMs, facts.waiting['eu-west']?.oldestBackgroundMs]) {
    expect(told).toBeGreaterThanOrEqual(100);
    expect(told).toBeLessThan(60_000);
  }
});

test('names what is missing', async () => {
  await nats.session.jsm.consumers.delete(streamNames.captures, 'eu-west-background-3');
  expect(await read()).toMatchObject({ kind: 'answered', missing: ['CAPTURES/eu-west-background-3'] });
  await nats.session.jsm.streams.delete(streamNames.dead);
  expect(await read()).toMatchObject({
    missing: ['DEAD', 'CAPTURES/eu-west-background-3', 'DEAD/dead-letters'],
  });
});

test('a server that does not answer is a fact, in time', async () => {
  const gate = await TcpGate.to(nats.url);
  const signal = AbortSignal.timeout(30_000);
  const session = await connectNats({ url: gate.url, name: 'cut off', log: silentLog, signal });
  gate.cut();
  const start = performance.now();
  expect(await read(session, 300)).toEqual({ kind: 'unreachable', why: 'no answer' });
  // The requests themselves are given up after five seconds.
  expect(performance.now() - start).toBeLessThan(4900);
  await session.nc.close();
  gate.close();
});

test('nothing is known of the renderers right after a connection, and while there is none', async () => {
  const link = { up: true, id: 1, now: 0 };
  const session = {
    connected: () => link.up,
    nc: {
      get info() {
        return { server_id: 'S', client_id: link.id };
      },
    },
    // Not to be reached: then the queue is unreachable, and that is all the same here.
    jsm: undefined,
  } as unknown as NatsSession;
  const gatherer = new Gatherer({
    session,
    streams: streamSettings,
    regions: [{ region: 'us-east', minRenderers: 1 }],
    fleet: { fresh: () => [], silent: () => [] },
    storage: { facts: null },
    clusters: { of: () => null },
    canaries: { of: () => null },
    now: () => link.now,
  });
  const known = async (state: Partial<typeof link>) => {
    Object.assign(link, state);
    return (await gatherer.read()).regions[0]?.fleetKnown;
  };
  expect(await known({ now: 0 })).toBe(false);
  expect(await known({ now: 4999 })).toBe(false);
  expect(await known({ now: 5000 })).toBe(true);
  expect(await known({ up: false })).toBe(false);
  expect(await known({ up: true, id: 2, now: 6000 })).toBe(false);
  expect(await known({ now: 11_000 })).toBe(true);
});
