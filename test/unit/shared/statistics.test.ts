import { describe, expect, test } from 'vitest';
import type { CaptureRecord, CaptureRefresh } from '@webcapture/shared/captures/capture-record.ts';
import { complete, fail, remove } from '@webcapture/shared/captures/transitions.ts';
import { type CaptureEnd, endOf } from '@webcapture/shared/statistics/capture-end.ts';
import { addHistogram, bucketOf, type Histogram, percentilesOf } from '@webcapture/shared/statistics/usage-day.ts';
import { addHour, newHour, noteEnd } from '@webcapture/shared/statistics/notable-captures.ts';
import { addDay, countEnd, countHit, maxKeys, newDay, otherKeys } from '@webcapture/shared/statistics/usage-day.ts';
import { newOutcome, newRecord, plainReport } from '../../harness/records.ts';

describe('the percentiles', () => {
  const histogramOf = (values: readonly number[]) => {
    const histogram: Histogram = {};
    for (const value of values) addHistogram(histogram, { [bucketOf(value)]: 1 });
    return histogram;
  };
  const exact = (values: readonly number[], share: number) =>
    values.toSorted((a, b) => a - b)[Math.ceil(share * values.length) - 1] ?? NaN;

  test.each([
    ['uniformly distributed', Array.from({ length: 1000 }, (_, index) => 20 + 37 * index)],
    ['long-tailed', Array.from({ length: 997 }, (_, index) => 300 + Math.exp(index / 90))],
    ['two groups', [...Array<number>(900).fill(412), ...Array<number>(100).fill(28_765)]],
    ['one', [1234]],
  ])('of %s durations are accurate to 5%', (_name, values) => {
    const found = percentilesOf(histogramOf(values));
    for (const [name, share] of [
      ['p50', 0.5],
      ['p90', 0.9],
      ['p99', 0.99],
    ] as const) {
      const wanted = exact(values, share);
      // The tolerance includes 0.5 ms, because the percentiles are whole milliseconds.
      expect(Math.abs((found?.[name] ?? NaN) - wanted), name).toBeLessThanOrEqual(0.05 * wanted + 0.5);
    }
  });

  test('of no durations are null, and the buckets accept any duration', () => {
    expect(percentilesOf({})).toBeNull();
    expect([0, 0.4, 1, 1e12, Infinity].map(bucketOf)).toEqual([0, 0, 1, 200, 200]);
  });

  test('of two histograms that are added are those of all values', () => {
    const [a, b] = [histogramOf([10, 20, 30]), histogramOf([4000, 5000])];
    addHistogram(a, b);
    expect(a).toEqual(histogramOf([10, 20, 30, 4000, 5000]));
  });
});

const accepted = Date.UTC(2026, 10, 30, 12);
const newEnd = (changes: Partial<CaptureEnd> = {}): CaptureEnd => ({
  account: 'a',
  uuid: newRecord().uuid,
  key: 'k',
  host: 'example.com',
  region: 'us-east',
  tokens: 1,
  durationMs: 1000,
  endedAt: accepted,
  failure: undefined,
  ...changes,
});
const failure = { code: 'CAPTURE_FAILED', message: 'It did not work.', cause: 'service' } as const;

describe('the statistics of a day', () => {
  test('count by key, and the sum of two days equals one day with all captures', () => {
    const [one, two, all] = [newDay(), newDay(), newDay()];
    const ends = [newEnd(), newEnd({ key: 'l', tokens: 2, durationMs: 9 }), newEnd({ key: undefined, tokens: 3 })];
    ends.push(newEnd({ tokens: 0, failure }));
    for (const [index, end] of ends.entries()) {
      for (const day of [index % 2 === 0 ? one : two, all]) countEnd(day, end);
    }
    for (const day of [two, all]) countHit(day, 'l');
    addDay(one, two);
    expect(one).toEqual(all);
    expect(one).toMatchObject({ tokens: 6, completed: 3, failed: 1, cached: 1, failures: { CAPTURE_FAILED: 1 } });
    // The histogram does not contain the duration of failed captures.
    expect(Object.values(one.latency).reduce((sum, count) => sum + count, 0)).toBe(3);
    expect(one.keys).toEqual({
      k: { tokens: 1, completed: 1, failed: 1, cached: 0 },
      l: { tokens: 2, completed: 1, failed: 0, cached: 1 },
    });
  });

  test('add the days of older versions, which have no errors', () => {
    const { failures: _later, ...older } = newDay();
    const day = newDay();
    countEnd(day, newEnd({ failure }));
    addDay(day, { ...older, failed: 2 });
    expect(day).toMatchObject({ failed: 3, failures: { CAPTURE_FAILED: 1 } });
  });

  test('have a bounded number of keys, complete sums, and a bounded size', () => {
    const day = newDay();
    for (let key = 0; key < 10 * maxKeys; key++) {
      const other = newDay();
      countEnd(
        other,
        newEnd({ key: `0198c2f0-7f6e-7d5c-8b4a-${String(key).padStart(12, '0')}`, durationMs: 1.1 ** (key % 300) }),
      );
      addDay(day, other);
    }
    expect(Object.keys(day.keys)).toHaveLength(maxKeys + 1);
    expect(day.keys[otherKeys]?.completed).toBe(9 * maxKeys);
    expect(Object.values(day.keys).reduce((sum, { tokens }) => sum + tokens, 0)).toBe(day.tokens);
    expect(JSON.stringify(day).length).toBeLessThan(16_000);
  });
});

describe('the end of a capture in the statistics', () => {
  const now = accepted + 5000;
  const outcome = newOutcome({
    capturedAt: now,
    report: { ...plainReport, timings: { ...plainReport.timings, queueMs: 4000 } },
  });
  const record = (changes: Partial<CaptureRecord> = {}) =>
    newRecord({
      acceptedAt: accepted,
      tokenCost: 2,
      key: 'k',
      url: 'https://user:secret@example.com:8443/a?token=1',
      ...changes,
    });
  const refresh: CaptureRefresh = {
    revision: 1,
    state: 'rendering',
    by: 'request',
    region: 'eu-west',
    acceptedAt: accepted + 1000,
    startBy: now,
    deadline: now,
  };
  const refreshing = record({ status: 'completed', priority: 'background', outcome, refresh });

  test.each([
    ['interactive', record(), complete(0, outcome, now), { tokens: 2, key: 'k', durationMs: 5000, failure: undefined }],
    [
      'in the background, without its time in the queue',
      record({ priority: 'background' }),
      complete(0, outcome, now),
      { durationMs: 1000 },
    ],
    ['failed', record(), fail(0, failure), { tokens: 0, key: 'k', durationMs: 5000, failure }],
    ['refreshed', refreshing, complete(1, outcome, now), { tokens: 2, key: undefined, durationMs: 0 }],
    ['with a failed refresh', refreshing, fail(1, failure), { tokens: 0, key: undefined, failure, region: 'eu-west' }],
  ])('is counted: %s', (_name, before, transition, wanted) => {
    const after = transition(before, now) ?? before;
    expect(endOf(before, after)).toMatchObject({
      host: 'example.com:8443',
      endedAt: now,
      uuid: before.uuid,
      ...wanted,
    });
    // Each capture is counted once.
    expect(endOf(after, after)).toBeNull();
  });

  test('has no host for supplied HTML', () => {
    const before = record({ url: 'about:blank' });
    expect(endOf(before, complete(0, outcome, now)(before, now) ?? before)?.host).toBe('about:blank');
  });

  test('is not counted if it was cancelled or deleted, or has only started', () => {
    const before = record({ priority: 'background' });
    for (const after of [
      remove(before, now),
      fail(0, { ...failure, cancelled: true })(before, now),
      { ...before, status: 'rendering' } as const,
    ]) {
      expect(after === null ? 'unchanged' : endOf(before, after)).toBeNull();
    }
    expect(endOf(null, before)).toBeNull();
  });
});

test('an hour keeps the 50 slowest and the last 50 failed captures of all processes, and no addresses', () => {
  const [one, two] = [newHour(), newHour()];
  const message = 'The page https://user:secret@example.com/a?token=1 sent no answer.';
  for (let each = 0; each < 200; each++) {
    const hour = each % 3 === 0 ? one : two;
    noteEnd(hour, newEnd({ durationMs: (each * 77) % 200 }));
    noteEnd(hour, newEnd({ endedAt: accepted + each, failure: { code: 'NAVIGATION_FAILED', message, cause: 'page' } }));
  }
  addHour(one, two);
  // A write whose response was lost is repeated.
  addHour(one, two);
  expect(one.slowest.map(({ durationMs }) => durationMs)).toEqual(
    Array.from({ length: 50 }, (_, index) => 199 - index),
  );
  expect(one.failed.map(({ endedAt }) => Date.parse(endedAt) - accepted)).toEqual(
    Array.from({ length: 50 }, (_, index) => 199 - index),
  );
  expect(one.failed[0]?.message).toBe('The page example.com sent no answer.');
});
