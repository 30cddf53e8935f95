import { beforeEach, describe, expect, test } from 'vitest';
import {
  maxDeliveries,
  ReceiverLimits,
  type Turn,
} from '../../../services/controller/jobs/webhooks/receiver-limits.ts';
import type { AttemptResult } from '../../../services/controller/jobs/webhooks/send.ts';

const delivered: AttemptResult = { delivered: true, status: 204 };
const silent: AttemptResult = { delivered: false, reason: 'no answer within 10 s', gone: false };

let now: number;
let limits: ReceiverLimits;
beforeEach(() => {
  now = 1_000_000;
  limits = new ReceiverLimits(
    () => now,
    () => 0,
  );
});

const ask = (receiver = 'a', dueAt = now) => limits.ask({ account: `of ${receiver}`, receiver }, dueAt);

function end(turn: Turn, result: AttemptResult, ms: number): void {
  if (turn.verdict !== 'send') throw new Error(`unexpected verdict ${turn.verdict}`);
  turn.end(result, ms);
  turn.release();
}

/** Returns the deliveries that are allowed at this moment. */
function turns(name = 'a', count = 100): Turn[] {
  return Array.from({ length: count }, () => ask(name)).filter(({ verdict }) => verdict === 'send');
}

const timeOutThrice = (name = 'a') => {
  for (let attempt = 0; attempt < 3; attempt++) {
    now += 10_000;
    end(ask(name), silent, 10_000);
  }
};

test('a receiver starts with two concurrent deliveries, and each fast response allows one more', () => {
  const first = turns();
  expect(first).toHaveLength(2);
  for (const turn of first) end(turn, delivered, 20);
  expect(turns()).toHaveLength(4);
});

test('a receiver with slow responses gets fewer concurrent deliveries', () => {
  for (let attempt = 0; attempt < 8; attempt++) end(ask(), delivered, 20);
  for (let attempt = 0; attempt < 2; attempt++) end(ask(), delivered, 5000);
  expect(turns()).toHaveLength(2);
});

describe('a receiver with three timeouts', () => {
  beforeEach(() => timeOutThrice());

  test('gets single trials after growing intervals of 5 to 60 s', () => {
    expect(limits.unavailable).toBe(1);
    expect(ask().verdict).toBe('defer');
    for (const waitMs of [5000, 10_000, 20_000, 40_000, 60_000, 60_000]) {
      now += waitMs - 1;
      expect(turns()).toHaveLength(0);
      now += 1;
      const trials = turns();
      expect(trials).toHaveLength(1);
      for (const trial of trials) end(trial, silent, 10_000);
    }
  });

  test('counts an attempt as made if it is more than a minute late', () => {
    expect(ask('a', now - 59_000).verdict).toBe('defer');
    expect(ask('a', now - 61_000).verdict).toBe('skip');
  });

  test('is available again after one response', () => {
    now += 5000;
    end(ask(), delivered, 20);
    expect(limits.unavailable).toBe(0);
    expect(turns().length).toBeGreaterThan(1);
  });
});

test('timeouts and new receivers leave capacity for receivers that have responded', () => {
  for (let index = 0; index < 100; index++) end(ask(`good-${index}`), delivered, 20);
  for (let index = 0; index < 500; index++) turns(`new-${index}`);
  const given = Array.from({ length: 100 }, (_, index) => turns(`good-${index}`, 1).length);
  expect(given.every((count) => count === 1)).toBe(true);
  expect(maxDeliveries).toBeGreaterThanOrEqual(256);
});

test('receivers that have never responded get at most half of the deliveries', () => {
  const given = Array.from({ length: 200 }, (_, index) => turns(`new-${index}`)).flat();
  expect(given).toHaveLength(maxDeliveries / 2);
  for (const turn of given) if (turn.verdict === 'send') turn.release();
  expect(turns('another')).toHaveLength(2);
});

test('deferred deliveries are spread over time, within a minute', () => {
  turns('a', 2);
  const waits = Array.from({ length: 3000 }, () => {
    const turn = ask();
    return turn.verdict === 'defer' ? turn.retryInMs : 0;
  });
  expect([0, 19, 39, 59].map((index) => waits[index])).toEqual([250, 500, 1000, 1500]);
  expect(Math.max(...waits)).toBe(60_000);
});

test('a refused connection is neither a timeout nor a response', () => {
  for (let attempt = 0; attempt < 5; attempt++) {
    end(ask(), { delivered: false, reason: 'connection refused', gone: false }, 3);
  }
  expect(limits.unavailable).toBe(0);
  expect(turns()).toHaveLength(2);
});

test('an account has a maximum of deliveries, independent of its number of receivers', () => {
  const given = Array.from({ length: 100 }, (_, index) =>
    limits.ask({ account: 'many', receiver: `host-${index}` }, now),
  ).filter(({ verdict }) => verdict === 'send');
  expect(given).toHaveLength(32);
  expect(limits.ask({ account: 'other', receiver: 'host-0' }, now).verdict).toBe('send');
  for (const turn of given) end(turn, delivered, 20);
  expect(limits.ask({ account: 'many', receiver: 'host-100' }, now).verdict).toBe('send');
});
