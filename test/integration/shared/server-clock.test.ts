import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectNats } from '@webcapture/shared/nats/connect.ts';
import { followServerClock, measureClock } from '@webcapture/shared/nats/measure-clock.ts';
import { ServerClock } from '@webcapture/shared/nats/server-clock.ts';
import { silentLog, startTestNats, type TestNats } from '../../harness/nats-session.ts';
import { until } from '../../harness/until.ts';

/** A clock that a test sets. */
class Hands {
  wallMs = 1_700_000_000_000;
  monotonicMs = 5000;
  readonly wall = () => this.wallMs;
  readonly monotonic = () => this.monotonicMs;
  pass(ms: number): void {
    this.wallMs += ms;
    this.monotonicMs += ms;
  }
}

const sample = (serverTimeMs: number, receivedAt: number, roundTripMs: number) => ({
  serverTimeMs,
  sentAt: receivedAt - roundTripMs,
  receivedAt,
});

test('the server clock equals the local clock until it is measured', () => {
  const hands = new Hands();
  const clock = new ServerClock(hands);
  expect([clock.now(), clock.isKnown]).toEqual([hands.wallMs, false]);
  hands.pass(10);
  expect(clock.now()).toBe(1_700_000_000_010);
});

test('the sample with the shortest round trip counts, corrected by half of it', () => {
  const hands = new Hands();
  const clock = new ServerClock(hands);
  clock.measure([sample(2_000_000, 5000, 400), sample(2_000_100, 5000, 20), sample(1_999_000, 5000, 60)]);
  expect([clock.now(), clock.isKnown]).toEqual([2_000_110, true]);
  hands.pass(1000);
  expect(clock.now()).toBe(2_001_110);
});

test('a step of the local clock does not change the server clock', () => {
  const hands = new Hands();
  const clock = new ServerClock(hands);
  clock.measure([sample(2_000_000, 5000, 0)]);
  hands.wallMs += 60_000;
  expect(clock.now()).toBe(2_000_000);
});

test('a slow response that agrees with the clock does not change it, and a fast one does', () => {
  const clock = new ServerClock(new Hands());
  clock.measure([sample(2_000_000, 5000, 2)]);
  clock.measure([sample(1_999_950, 5000, 120)]);
  expect(clock.now()).toBe(2_000_001);
  clock.measure([sample(2_000_049, 5000, 2)]);
  expect(clock.now()).toBe(2_000_050);
  clock.measure([]);
  expect(clock.now()).toBe(2_000_050);
});

test('of the received times, the one with the shortest delay counts, and old ones are forgotten', () => {
  const clock = new ServerClock(new Hands());
  clock.learn(2_000_000, 20);
  clock.learn(1_999_000);
  expect(clock.now()).toBe(2_000_020);
  clock.learn(Number.NaN);
  for (let turn = 0; turn < 8; turn++) clock.learn(1_990_000);
  expect(clock.now()).toBe(1_990_000);
});

let nats: TestNats;
beforeAll(async () => {
  nats = await startTestNats(['us-east']);
});
afterAll(() => nats[Symbol.asyncDispose]());

/** Connects as a process whose local clock is off by `offMs`. */
const sessionWith = (offMs: number) =>
  connectNats({
    url: nats.url,
    name: 'test',
    log: silentLog,
    signal: AbortSignal.timeout(30_000),
    clock: new ServerClock({ wall: () => Date.now() + offMs, monotonic: () => performance.now() + offMs }),
  });

/** Returns the difference between a session and the server, which uses the clock of this machine. */
const offOf = ({ now }: { now: () => number }) => Math.abs(now() - Date.now());

test.each([60_000, -60_000])(
  'with a local clock that is %i ms off, the session has the server’s time within 50 ms',
  async (offMs) => {
    const session = await sessionWith(offMs);
    try {
      expect(offOf(session)).toBeGreaterThan(50_000);
      await measureClock(session);
      expect(offOf(session)).toBeLessThan(50);
    } finally {
      await session.nc.close();
    }
  },
);

test('the clock is measured when the streams exist, and again after a reconnection', async () => {
  await nats.session.jsm.streams.delete('KV_live');
  const session = await sessionWith(60_000);
  const aborter = new AbortController();
  const following = followServerClock(session, { log: silentLog, signal: aborter.signal });
  try {
    expect(session.clock.isKnown).toBe(false);
    await nats.session.jsm.streams.add({ name: 'KV_live', subjects: ['$KV.live.>'] });
    await until('the clock to be measured', () => session.clock.isKnown);
    expect(offOf(session)).toBeLessThan(50);
    session.clock.measure([sample(0, session.clock.monotonic(), 0)]);
    expect(offOf(session)).toBeGreaterThan(50);
    await nats.restart();
    await until('the clock to be measured again', () => offOf(session) < 50);
  } finally {
    aborter.abort();
    await following;
    await session.nc.close();
  }
});
