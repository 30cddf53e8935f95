import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import { pageOf } from '@webcapture/shared/nats/read-many.ts';
import { AccountUsage, refreshReservation } from '@webcapture/shared/accounts/account-usage.ts';
import { Limiter } from '@webcapture/shared/accounts/limiter.ts';
import { captureKey } from '@webcapture/shared/captures/captures.ts';
import { periodOf } from '@webcapture/shared/captures/times.ts';
import { startTestNats, type TestNats } from '../../harness/nats-session.ts';
import { newRecord } from '../../harness/records.ts';
import { until } from '../../harness/until.ts';
import { wideBytes } from '../../harness/limits.ts';
import { noUsage } from '@webcapture/shared/captures/usage.ts';

let nats: TestNats;
let db: Entries;
let usage: AccountUsage;
beforeAll(async () => {
  nats = await startTestNats(['us-east']);
  db = new Entries(nats.session, 'db');
  usage = new AccountUsage(nats.session);
});
afterAll(() => nats[Symbol.asyncDispose]());

const lastOfNovember = Date.UTC(2026, 10, 30, 23, 59, 59, 999);

test.each([
  [lastOfNovember, Date.UTC(2026, 10), Date.UTC(2026, 11)],
  [lastOfNovember + 1, Date.UTC(2026, 11), Date.UTC(2027, 0)],
  [Date.UTC(2028, 1, 29), Date.UTC(2028, 1), Date.UTC(2028, 2)],
])('the period of %i starts and ends with its month in UTC', (time, start, end) => {
  expect(periodOf(time)).toEqual({ start, end });
});

describe('the usage of a month', () => {
  test('is the sum of the existing shards, read roughly or exactly', async () => {
    for (const shard of [0, 7, 15]) {
      await db.put(`usage.sum.202611.${shard}`, { ...noUsage, tokens: shard + 1, captures: 1 });
    }
    await db.put('usage.sum.202612.0', { ...noUsage, tokens: 1000, captures: 1 });
    for (const precision of ['rough', 'exact'] as const) {
      expect(await usage.read('sum', lastOfNovember, precision)).toEqual({
        ...noUsage,
        tokens: 25,
        captures: 3,
        reserved: 0,
        queued: 0,
      });
      expect(await usage.read('unknown', lastOfNovember, precision)).toMatchObject({ tokens: 0 });
    }
  });

  test('starts at midnight UTC, and not a millisecond earlier', async () => {
    await db.put('usage.month.202611.3', { ...noUsage, tokens: 10, captures: 10 });
    let now = lastOfNovember;
    const limiter = new Limiter(nats.session, usage, () => now);
    const limits = { tokenQuota: 10, ratePerMinute: 60_000, burst: 1000, maxInFlight: 10, maxQueued: 0, ...wideBytes };
    const ask = async (id: string) => {
      const request = { id, tokens: 1, priority: 'interactive', until: now + 1000 } as const;
      return (await limiter.admit('month', limits, request)).refused;
    };
    expect(await ask('one')).toBe('quota');
    now += 1;
    expect(await ask('two')).toBe(null);
    expect(await limiter.inFlight('month')).toBe(1);
    now += 1000;
    expect(await limiter.inFlight('month')).toBe(0);
  });
});

test('usage is read exactly near the quota, and roughly far from it', async () => {
  const asked: string[] = [];
  const limiter = new Limiter(nats.session, {
    read: async (_account, _now, precision) => {
      asked.push(precision);
      return noUsage;
    },
    inLedger: async () => [],
  });
  const limits = { tokenQuota: 1000, ratePerMinute: 100, burst: 100, maxInFlight: 10, maxQueued: 0, ...wideBytes };
  const request = { tokens: 1, priority: 'interactive', until: Date.now() + 1000 } as const;
  await limiter.admit('far', limits, { ...request, id: 'far' });
  expect(asked).toEqual(['rough']);
  await limiter.admit('near', { ...limits, tokenQuota: 400 }, { ...request, id: 'near' });
  expect(asked).toEqual(['rough', 'rough', 'exact']);
});

test('far from every limit, usage is cached for a while, separately for each account', async () => {
  const asked: string[] = [];
  const limiter = new Limiter(nats.session, {
    read: async (account, _now, precision) => {
      asked.push(`${account} ${precision}`);
      return noUsage;
    },
    inLedger: async () => [],
  });
  const limits = { tokenQuota: 1e6, ratePerMinute: 100, burst: 100, maxInFlight: 10, maxQueued: 1e6, ...wideBytes };
  const request = { tokens: 1, priority: 'background', until: Date.now() + 1000 } as const;
  // The clock is frozen, so that the cached usage does not expire on a slow machine.
  const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now());
  try {
    await limiter.admit('one', limits, { ...request, id: 'a' });
    await limiter.admit('one', limits, { ...request, id: 'b' });
    await limiter.admit('two', limits, { ...request, id: 'c' });
    expect(asked).toEqual(['one rough', 'two rough']);
  } finally {
    clock.mockRestore();
  }
  await until('it to be read again', async () => {
    await limiter.admit('one', limits, { ...request, id: 'd' });
    return asked.length === 3;
  });
});

test('an admission that is released while it is being written leaves no reservation', async () => {
  const limiter = new Limiter(nats.session, {
    read: async () => noUsage,
    inLedger: async () => [],
  });
  const limits = { tokenQuota: 1000, ratePerMinute: 1000, burst: 1000, maxInFlight: 10, maxQueued: 0, ...wideBytes };
  const request = (id: string) => ({ id, tokens: 1, priority: 'interactive', until: Date.now() + 60_000 }) as const;
  // The first admission is being written; the second and its release are part of the next write.
  await Promise.all([
    limiter.admit('late', limits, request('first')),
    limiter.admit('late', limits, request('second')),
    limiter.release('late', 'second'),
  ]);
  expect(await limiter.inFlight('late')).toBe(1);
});

test('an admission that is repeated with the same id is counted once', async () => {
  const limiter = new Limiter(nats.session, {
    read: async () => noUsage,
    inLedger: async () => [],
  });
  const limits = { tokenQuota: 1, ratePerMinute: 1, burst: 1, maxInFlight: 1, maxQueued: 0, ...wideBytes };
  const request = { id: 'same', tokens: 1, priority: 'interactive', until: Date.now() + 60_000 } as const;
  for (let attempt = 0; attempt < 3; attempt++) {
    expect((await limiter.admit('again', limits, request)).refused).toBe(null);
  }
  expect((await limiter.admit('again', limits, { ...request, id: 'other' })).refused).toBe('rate');
});

test('inLedger returns the reservations of captures and refreshes that the ledger counts', async () => {
  const interactive = newRecord({ account: 'reservations' });
  const waiting = newRecord({ account: 'reservations', priority: 'background' });
  const ended = newRecord({ account: 'reservations', status: 'failed' });
  const refreshed = { ...newRecord({ account: 'reservations', status: 'completed' }), refresh: { revision: 2 } };
  for (const record of [interactive, waiting, ended, refreshed]) {
    await db.put(captureKey('reservations', record.uuid), record);
  }
  const missing = newRecord().uuid;
  const [second, third] = [refreshReservation(refreshed.uuid, 2), refreshReservation(refreshed.uuid, 3)];
  const names = [interactive.uuid, waiting.uuid, ended.uuid, second, third, missing];
  expect(await usage.inLedger('reservations', names)).toEqual([waiting.uuid, ended.uuid, second]);
  expect(await usage.inLedger('reservations', [])).toEqual([]);
});

test.each([
  [{ limit: 2 }, ['d', 'c'], 'c'],
  [{ limit: 2, cursor: 'c' }, ['b', 'a'], null],
  [{ limit: 4 }, ['d', 'c', 'b', 'a'], null],
  [{ limit: 1, cursor: 'a' }, [], null],
])('pageOf returns the page %j in descending order', (page, ids, nextCursor) => {
  expect(pageOf(['b', 'd', 'a', 'c'], page)).toEqual({ ids, nextCursor });
});
