import { describe, expect, test } from 'vitest';
import type { CaptureRecord, StoredBytes } from '@webcapture/shared/captures/capture-record.ts';
import {
  begin,
  cancelQueued,
  complete,
  expire,
  fail,
  isOpen,
  nextRefreshNumber,
  refuseRefresh,
  remove,
  startRefresh,
} from '@webcapture/shared/captures/transitions.ts';
import {
  difference,
  bytesAdded,
  noBytes,
  noUsage,
  persistedPeriod,
  sum,
  type Usage,
  usageKey,
  usageOf,
  usageShards,
  withStoredBytes,
} from '@webcapture/shared/captures/usage.ts';
import {
  accepted,
  background,
  completed,
  day,
  failure,
  now,
  orderOf,
  outcome,
  recordOf,
} from './transition-records.ts';
import { randomOf } from '../../harness/random.ts';

test('refreshes are charged to the month in which they were accepted', () => {
  const december = Date.UTC(2026, 11, 1);
  let record: CaptureRecord = completed({ expiresAt: december + 10 * day });
  const times = [december - 2000, december - 1000, december];
  for (const [index, time] of times.entries()) {
    const revision = index + 1;
    record = startRefresh(orderOf(revision, time))(record, time) ?? record;
    record = complete(revision, outcome, record.expiresAt)(record, december + day) ?? record;
  }
  expect(record.refreshCharges).toEqual({
    '202611': { tokens: 6, captures: 2 },
    '202612': { tokens: 3, captures: 1 },
  });
  expect(Object.fromEntries(usageOf(record))).toEqual({
    '202611': { ...noUsage, tokens: 9, captures: 3 },
    '202612': { ...noUsage, tokens: 3, captures: 1 },
  });
});

test('a failed refresh is not charged, and its capture keeps its file', () => {
  const after = fail(2, failure)(recordOf('refresh rendering'), now);
  expect(after).toMatchObject({ status: 'completed', outcome, refresh: { state: 'failed', failure, endedAt: now } });
  expect(after).not.toHaveProperty('refreshCharges');
});

/** Returns the bytes that the store contains for a record: the file of a completed capture, and HTML that is not yet rendered. */
function storedBytesOf(record: CaptureRecord): StoredBytes {
  const { status, outcome: shown, persistence, htmlBytes = 0 } = record;
  const earlier = (record.earlierFiles ?? []).reduce((bytes, { fileSizeBytes }) => bytes + fileSizeBytes, 0);
  const file = status === 'completed' ? (shown?.fileSizeBytes ?? 0) + (shown?.extracted?.bytes ?? 0) + earlier : 0;
  const isKept = persistence !== undefined;
  return {
    queuedBytes: record.priority === 'background' && isOpen(record) ? htmlBytes : 0,
    storedBytes: isKept ? 0 : file,
    persistedBytes: isKept ? file : 0,
    keptHtmlBytes: isKept && status === 'completed' ? htmlBytes : 0,
  };
}

const totalOf = (record: CaptureRecord): Usage => [...usageOf(record).values()].reduce(sum, noUsage);

test('after any sequence of transitions no usage is negative, and tokens are never refunded', () => {
  const seen = new Set<string>();
  for (let seed = 1; seed <= 500; seed++) {
    const random = randomOf(seed);
    const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
    let time = accepted;
    let record: CaptureRecord = background({
      priority: pick(['interactive', 'background']),
      ...(random() < 0.5 ? { persistence: { refreshIntervalMs: pick([0, day]), history: pick([0, 1, 3]) } } : {}),
      ...(random() < 0.5 ? { html: 'page', htmlBytes: 40 } : {}),
    });
    record = withStoredBytes(record);
    for (let step = 0; step < 60; step++) {
      time += Math.floor(random() * day * 0.2);
      const revision = pick([
        0,
        0,
        nextRefreshNumber(record) - 1,
        nextRefreshNumber(record) - 1,
        nextRefreshNumber(record),
        7,
      ]);
      const transition = pick([
        begin(revision),
        begin(revision),
        complete(revision, { ...outcome, fileSizeBytes: pick([10, 20, 30]) }, time + day),
        complete(revision, outcome, time + day, { earlier: { ...outcome, name: 'earlier', replacedBy: revision } }),
        complete(revision, { ...outcome, extracted: { parts: ['text'], bytes: 5 } }, time + day),
        fail(revision, failure),
        cancelQueued(revision, failure),
        startRefresh(orderOf(revision, time), time + day),
        startRefresh(orderOf(nextRefreshNumber(record), time), time + day),
        refuseRefresh(orderOf(revision, time), failure, time + day),
        expire,
        ...(random() < 0.1 ? [remove] : []),
      ]);
      const before = totalOf(record);
      record = withStoredBytes(transition(record, time) ?? record);
      const after = totalOf(record);
      const openTurns =
        (record.priority === 'background' && isOpen(record) ? 1 : 0) +
        (isOpen(record, record.refresh?.revision ?? -1) ? 1 : 0);
      const where = `seed ${seed}, step ${step}`;
      for (const usage of usageOf(record).values()) {
        expect(Math.min(...Object.values(usage)), where).toBeGreaterThanOrEqual(0);
      }
      expect(after.tokens, where).toBeGreaterThanOrEqual(before.tokens);
      expect(after.captures - before.captures, where).toBeLessThanOrEqual(1);
      expect(after.tokens, where).toBe(after.captures * record.tokenCost);
      const reserved = { queued: openTurns, reserved: openTurns * record.tokenCost };
      expect(after, where).toMatchObject({ ...reserved, ...storedBytesOf(record) });
      seen.add([record.status, record.refresh?.state].join('/'));
    }
  }
  // The random transitions reach every status, and every state of a refresh.
  for (const state of ['failed/', 'expired/', 'deleted/', 'completed/queued', 'completed/rendering']) {
    expect([...seen], state).toContain(state);
  }
  expect([...seen]).toEqual(expect.arrayContaining(['completed/completed', 'completed/failed', 'expired/completed']));
});

describe('the usage ledger', () => {
  const use = (changes: Partial<Usage>): Usage => ({ ...noUsage, ...changes });

  test('shows the difference of two usages by period', () => {
    const before = new Map([
      ['202611', use({ reserved: 3, queued: 1 })],
      ['202610', use({ tokens: 5, captures: 5 })],
    ]);
    const after = new Map([
      ['202611', use({ tokens: 3, captures: 1 })],
      ['202610', use({ tokens: 5, captures: 5 })],
      ['202612', use({ tokens: 2, captures: 1 })],
    ]);
    expect(difference(after, before)).toEqual([
      { period: '202611', change: use({ tokens: 3, captures: 1, reserved: -3, queued: -1 }) },
      { period: '202612', change: use({ tokens: 2, captures: 1 }) },
    ]);
    expect(difference(new Map(), new Map([['202611', use({ tokens: 3 })]]))).toEqual([
      { period: '202611', change: use({ tokens: -3 }) },
    ]);
  });

  test('assigns a capture to one of all shards of its account', () => {
    const keys = Array.from({ length: 500 }, (_, index) => usageKey('acme', '202611', `capture-${index}`));
    expect(new Set(keys.map((key) => key.split('.').slice(0, 3).join('.')))).toEqual(new Set(['usage.acme.202611']));
    expect(new Set(keys).size).toBe(usageShards);
    expect(usageKey('acme', '202611', 'capture-7')).toBe(keys[7]);
  });

  test('counts a completed capture once, however it ended, and no capture without a file', () => {
    expect(usageOf(background({ status: 'failed', failure })).size).toBe(0);
    expect([...usageOf(completed({ status: 'deleted' })).values()]).toEqual([use({ tokens: 3, captures: 1 })]);
  });
});

describe('the bytes of a record', () => {
  const html = { html: 'page', htmlBytes: 40 };
  const kept = { persistence: { refreshIntervalMs: 0 } };
  const size = outcome.fileSizeBytes;
  const earlier = (fileSizeBytes: number) => ({ ...outcome, fileSizeBytes, name: 'earlier', replacedBy: 1 });
  const keeping = (history: number, earlierFiles: CaptureRecord['earlierFiles'] & object) =>
    completed({
      persistence: { refreshIntervalMs: 0, history },
      earlierFiles,
      refresh: { ...orderOf(3), state: 'rendering', earlierName: 'next' },
    });

  test('count for HTML in the month of the capture while it is queued', () => {
    const [[period, usage] = []] = usageOf(withStoredBytes(background(html)));
    expect([period, usage?.queuedBytes]).toEqual(['202611', 40]);
  });

  test('count for an expiring file in the month of the capture, and for a persisted file in no month', () => {
    expect(usageOf(withStoredBytes(completed())).get('202611')?.storedBytes).toBe(size);
    const persisted = usageOf(withStoredBytes(completed({ ...kept, ...html })));
    expect(persisted.get('202611')).toMatchObject(noBytes);
    expect(persisted.get(persistedPeriod)).toEqual({ ...noUsage, persistedBytes: size, keptHtmlBytes: 40 });
  });

  test.each<[string, CaptureRecord, Partial<StoredBytes>]>([
    ['a capture', background(), { storedBytes: 100 }],
    ['a capture of HTML', background(html), { storedBytes: 100, queuedBytes: -40 }],
    [
      'a capture of HTML that is kept',
      background({ ...html, ...kept }),
      { persistedBytes: 100, keptHtmlBytes: 40, queuedBytes: -40 },
    ],
    ['a refresh', completed(), { storedBytes: 100 - size }],
    ['a refresh of a persisted file', completed({ ...kept, ...html }), { persistedBytes: 100 - size }],
    ['a refresh that keeps the file that it replaces', keeping(2, [earlier(7)]), { persistedBytes: 100 }],
    ['a refresh that replaces the oldest kept file', keeping(2, [earlier(7), earlier(9)]), { persistedBytes: 100 - 9 }],
  ])('grow when a capture completes: %s', (_what, record, added) => {
    expect(bytesAdded(record, 100)).toEqual({ ...noBytes, ...added });
  });
});
