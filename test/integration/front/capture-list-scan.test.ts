import { randomUUIDv7 } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import { CaptureList, type CaptureListAsk, type ScanBounds } from '../../../services/front/capture/capture-list.ts';
import { captureKey, Captures } from '@webcapture/shared/captures/captures.ts';
import { firstUuidOf, timeOfUuid } from '@webcapture/shared/captures/uuid.ts';
import { startTestNats, type TestNats } from '../../harness/nats-session.ts';
import { newOutcome, newRecord } from '../../harness/records.ts';

let nats: TestNats;
let captures: Captures;
beforeAll(async () => {
  nats = await startTestNats(['us-east']);
  captures = new Captures(nats.session);
});
afterAll(() => nats[Symbol.asyncDispose]());

const dayMs = 86_400_000;
const now = Date.parse('2026-03-02T12:00:00Z');
const since = Date.parse('2025-11-01T00:00:00Z');

const uuidAt = (time: number) => firstUuidOf(time).slice(0, 13) + randomUUIDv7().slice(13);

/** Stores a completed capture for each time, expiring a day after `now`; returns the uuids, newest first. */
async function fill(account: string, times: readonly number[], changes: Partial<CaptureRecord> = {}) {
  const records = times.map((acceptedAt) =>
    newRecord({
      account,
      uuid: uuidAt(acceptedAt),
      acceptedAt,
      status: 'completed',
      outcome: newOutcome(),
      expiresAt: now + dayMs,
      ...changes,
    }),
  );
  // Writes the records without the usage ledger, because that is tested elsewhere.
  const db = new Entries(nats.session, 'db');
  // The requests are sent in batches. On a slow machine, a request behind thousands may time out.
  for (let start = 0; start < records.length; start += 200) {
    const some = records.slice(start, start + 200);
    await Promise.all(some.map((record) => db.put(captureKey(account, record.uuid), record)));
  }
  return newestFirst(records.map(({ uuid }) => uuid));
}

const newestFirst = (uuids: readonly string[]) => uuids.toSorted().toReversed();

async function part(account: string, ask: Partial<CaptureListAsk> = {}, bounds?: ScanBounds) {
  const list = new CaptureList(nats.session, bounds);
  const { records, nextCursor } = await list.list(account, { limit: 10, since, now, ...ask });
  return { uuids: records.map(({ uuid }) => uuid), nextCursor };
}

/** Reads all pages, each no larger than its limit. */
async function walk(account: string, ask: Partial<CaptureListAsk> = {}, bounds?: ScanBounds) {
  const { limit = 10 } = ask;
  const seen: string[] = [];
  let parts = 0;
  for (let cursor: string | undefined; ; parts++) {
    const { uuids, nextCursor } = await part(account, { ...ask, limit, cursor }, bounds);
    expect(uuids.length).toBeLessThanOrEqual(limit);
    seen.push(...uuids);
    if (nextCursor === null) return { uuids: seen, parts: parts + 1 };
    if (cursor !== undefined) expect(nextCursor < cursor).toBe(true);
    cursor = nextCursor;
  }
}

const hours = (count: number, step: number, start = now) =>
  Array.from({ length: count }, (_, index) => start - index * step * 3_600_000);

describe('all captures, newest first and each once', () => {
  test.each([1, 3, 7, 100])('over days and months, in pages of %d', async (limit) => {
    const account = `months-${limit}`;
    const uuids = await fill(account, hours(60, 13));
    expect((await walk(account, { limit })).uuids).toEqual(uuids);
  });

  test('over years with captures on a few days', async () => {
    const times = [0, 1, 2, 30, 31, 400, 401, 800, 1100].map((days) => now - days * dayMs);
    const uuids = await fill('sparse', times);
    expect(await walk('sparse', { limit: 4, since: now - 1200 * dayMs }, { days: 2000, records: 2000 })).toEqual({
      uuids,
      parts: 3,
    });
  });

  test('of a day with many, even if more are added meanwhile', async () => {
    // This clock starts at noon. Just after midnight, most captures would belong to the previous day, which can no longer change.
    const ahead = Math.floor(Date.now() / dayMs) * dayMs + dayMs / 2 - Date.now();
    const clock = () => Date.now() + ahead;
    const start = clock() - 3_600_000;
    const uuids = await fill(
      'many',
      Array.from({ length: 2500 }, (_, index) => start + index * 1000),
      { expiresAt: clock() + 2 * dayMs },
    );
    const list = new CaptureList(nats.session, undefined, clock);
    const page = async (cursor?: string) => {
      const ask = { limit: 100, since: start, now: clock(), cursor };
      const { records, nextCursor } = await list.list('many', ask);
      return { uuids: records.map(({ uuid }) => uuid), nextCursor };
    };
    const first = await page();
    expect(first.uuids).toEqual(uuids.slice(0, 100));
    expect((await page(uuids[1234])).uuids).toEqual(uuids.slice(1235, 1335));
    const later = await fill('many', [clock(), clock() - 1]);
    await captures.fail(
      { account: 'many', uuid: uuids[5] ?? '' },
      { code: 'CAPTURE_FAILED', message: 'changed, not new', cause: 'service' },
    );
    expect((await page()).uuids).toEqual([...later, ...uuids.slice(0, 98)]);
    expect((await page()).uuids).toEqual([...later, ...uuids.slice(0, 98)]);
    expect((await page(first.nextCursor ?? '')).uuids).toEqual(uuids.slice(100, 200));
    // A capture whose front wrote it late.
    const [between = ''] = await fill('many', [(timeOfUuid(uuids[2] ?? '') ?? 0) + 1]);
    expect((await page()).uuids).toEqual([...later, ...uuids.slice(0, 2), between, ...uuids.slice(2, 97)]);
    // More captures than are read one by one.
    const burst = await fill(
      'many',
      Array.from({ length: 5000 }, (_, index) => clock() + 10 + index),
    );
    expect((await page(firstUuidOf(clock() + 60_000))).uuids).toEqual(burst.slice(0, 100));
  });

  test('no captures if there are none, and no captures of another account', async () => {
    const [own] = [await fill('mine', hours(5, 20)), await fill('mine-2', hours(5, 20))];
    expect(await part('mine')).toEqual({ uuids: own, nextCursor: null });
    expect(await part('unknown', { since: now - 3 * dayMs })).toEqual({ uuids: [], nextCursor: null });
    expect(await part('unknown', { since: now + dayMs })).toEqual({ uuids: [], nextCursor: null });
  });

  test('without removed captures', async () => {
    const uuids = await fill('removed', hours(12, 5));
    const db = new Entries(nats.session, 'db');
    for (const uuid of uuids.slice(0, 6)) await db.delete(captureKey('removed', uuid));
    expect(await walk('removed', { limit: 3 })).toEqual({ uuids: uuids.slice(6), parts: 2 });
  });
});

describe('the end of the list', () => {
  test('a page has a cursor only if another capture follows', async () => {
    const uuids = await fill('exact', hours(11, 30));
    const recent = { since: now - 20 * dayMs };
    expect(await part('exact', { ...recent, limit: 11 })).toEqual({ uuids, nextCursor: null });
    expect(await part('exact', { ...recent, limit: 10 })).toEqual({ uuids: uuids.slice(0, 10), nextCursor: uuids[9] });
    expect(await part('exact', { ...recent, limit: 10, cursor: uuids[9] })).toEqual({
      uuids: uuids.slice(10),
      nextCursor: null,
    });
  });

  test('clocks of fronts may differ by a minute, even around midnight', async () => {
    const midnight = Date.parse('2026-02-01T00:00:00Z');
    const ahead = await fill('ahead', [midnight + 30_000]);
    expect((await part('ahead', { now: midnight - 10_000 })).uuids).toEqual(ahead);
    const behind = await fill('behind', [midnight - 30_000]);
    expect((await part('behind', { since: midnight })).uuids).toEqual(behind);
  });
});

describe('limits of one request', () => {
  test('by days: the page contains what was found, and the cursor continues the scan', async () => {
    const [near, far] = [await fill('bounds', [now]), await fill('bounds', [now - 50 * dayMs])];
    const bounds = { days: 20, records: 2000 };
    const first = await part('bounds', {}, bounds);
    expect(first.uuids).toEqual(near);
    expect(timeOfUuid(first.nextCursor ?? '')).toBe(Date.parse('2026-02-11T00:00:00Z'));
    const second = await part('bounds', { cursor: first.nextCursor ?? '' }, bounds);
    expect(second).toEqual({ uuids: [], nextCursor: firstUuidOf(Date.parse('2026-01-22T00:00:00Z')) });
    expect((await walk('bounds', { since: now - 100 * dayMs }, bounds)).uuids).toEqual([...near, ...far]);
  });

  test('by records: a filter with few matches returns early', async () => {
    const uuids = await fill('rare', hours(90, 7));
    const [last] = await fill('rare', [now - 40 * dayMs], { status: 'failed' });
    const bounds = { days: 400, records: 25 };
    const first = await part('rare', { status: 'failed' }, bounds);
    expect(first).toEqual({ uuids: [], nextCursor: uuids[24] });
    expect((await walk('rare', { status: 'failed', since: now - 60 * dayMs }, bounds)).uuids).toEqual([last]);
    expect((await walk('rare', { status: 'completed', since: now - 60 * dayMs }, bounds)).uuids).toEqual(uuids);
  });

  test('by records within a day: the rest of the day is not skipped', async () => {
    const [last] = await fill('dense', [now - 7_200_000], { status: 'failed' });
    const uuids = await fill('dense', hours(30, 0.01));
    const bounds = { days: 400, records: 10 };
    const first = await part('dense', { status: 'failed' }, bounds);
    expect(first).toEqual({ uuids: [], nextCursor: uuids[9] });
    expect((await walk('dense', { status: 'failed', since: now - dayMs }, bounds)).uuids).toEqual([last]);
  });

  test('the scan ends even with the smallest limits', async () => {
    const uuids = await fill('small', hours(5, 30));
    expect((await walk('small', { since: now - 9 * dayMs }, { days: 1, records: 1 })).uuids).toEqual(uuids);
  });
});

describe('by status', () => {
  test('a capture is listed under the status that it is shown with', async () => {
    const statuses = ['queued', 'rendering', 'failed', 'deleted', 'expired'] as const;
    const by: Record<string, string[]> = {};
    for (const status of statuses) by[status] = await fill('status', hours(3, 31), { status });
    by['completed'] = await fill('status', hours(3, 31), { expiresAt: now + 1 });
    by['expired'] = newestFirst([
      ...(by['expired'] ?? []),
      ...(await fill('status', hours(3, 31), { expiresAt: now })),
    ]);
    for (const status of [...statuses, 'completed'] as const) {
      const found = await walk('status', { status, limit: 2, since: now - 20 * dayMs });
      expect(found.uuids, status).toEqual(by[status]);
    }
  });
});

describe('a cursor', () => {
  test('need not be a capture of the account', async () => {
    const uuids = await fill('cursor', [now, now - 1, now - dayMs, now - 70 * dayMs]);
    const recent = { since: now - 80 * dayMs };
    const after = (cursor: string) => part('cursor', { ...recent, cursor }).then((found) => found.uuids);
    expect(await after(firstUuidOf(now + 900 * dayMs))).toEqual(uuids);
    expect(await after('ffffffff-ffff-7fff-bfff-ffffffffffff')).toEqual(uuids);
    expect(await after(firstUuidOf(now))).toEqual(uuids.slice(1));
    expect(await after(uuids[1] ?? '')).toEqual(uuids.slice(2));
    expect(await after(firstUuidOf(now - 20 * dayMs))).toEqual(uuids.slice(3));
    expect(await part('cursor', { ...recent, cursor: firstUuidOf(0) })).toEqual({ uuids: [], nextCursor: null });
  });
});
