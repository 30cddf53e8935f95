import { describe, expect, test } from 'vitest';
import {
  admit,
  freshAdmissionState,
  inFlightOf,
  release,
  type AccountLimits,
  type AdmissionRequest,
  type AdmissionState,
  isNearInFlightLimit,
  isNearUsageLimit,
  type UsageSum,
} from '@webcapture/shared/accounts/limits.ts';
import { wideBytes } from '../../harness/limits.ts';
import { noBytes } from '@webcapture/shared/captures/usage.ts';

const limits: AccountLimits = {
  tokenQuota: 100,
  ratePerMinute: 60,
  burst: 3,
  maxInFlight: 5,
  maxQueued: 4,
  ...wideBytes,
};
const unused = { ...noBytes, tokens: 0, reserved: 0, queued: 0 };
const start = Date.UTC(2026, 0, 1);

let serial = 0;
const request = (fields: Partial<AdmissionRequest> = {}): AdmissionRequest => ({
  id: `capture-${serial++}`,
  tokens: 1,
  priority: 'interactive',
  until: start + 300_000,
  ...fields,
});
const requests = (count: number, fields: Partial<AdmissionRequest> = {}) =>
  Array.from({ length: count }, () => request(fields));
const refusals = (verdicts: readonly { refused: string | null }[]) => verdicts.map(({ refused }) => refused);

describe('rate limit', () => {
  const wide = { ...limits, maxInFlight: 1000, tokenQuota: 1000 };

  test('admits the burst, then one request per interval', () => {
    const first = admit(freshAdmissionState, wide, unused, requests(5), start);
    expect(refusals(first.verdicts)).toEqual([null, null, null, 'rate', 'rate']);
    expect(first.verdicts.map(({ remaining }) => remaining)).toEqual([2, 1, 0, 0, 0]);
    expect(first.verdicts[3]).toMatchObject({ retryAfterMs: 1000, resetMs: 3000 });

    const early = admit(first.state, wide, unused, requests(1), start + 999);
    expect(early.verdicts[0]).toMatchObject({ refused: 'rate', retryAfterMs: 1 });
    const inTime = admit(first.state, wide, unused, requests(2), start + 1000);
    expect(refusals(inTime.verdicts)).toEqual([null, 'rate']);
  });

  test('refills at most the burst', () => {
    const { state } = admit(freshAdmissionState, wide, unused, requests(3), start);
    const later = admit(state, wide, unused, requests(4), start + 3_600_000);
    expect(refusals(later.verdicts)).toEqual([null, null, null, 'rate']);
  });

  test('admits at most the burst plus the rate within a minute', () => {
    let state: AdmissionState = freshAdmissionState;
    let admitted = 0;
    for (let now = start; now <= start + 60_000; now += 40) {
      const decision = admit(state, wide, unused, requests(2, { until: now + 1 }), now);
      ({ state } = decision);
      admitted += decision.verdicts.filter(({ refused }) => refused === null).length;
    }
    expect(admitted).toBe(3 + 60);
  });
});

describe('quota', () => {
  const fast = { ...limits, burst: 1000, maxInFlight: 1000 };

  test.each([
    [{ ...noBytes, tokens: 98, reserved: 0, queued: 0 }, 1, [null, null, 'quota']],
    [{ ...noBytes, tokens: 98, reserved: 1, queued: 1 }, 1, [null, 'quota', 'quota']],
    [{ ...noBytes, tokens: 97, reserved: 0, queued: 0 }, 2, [null, 'quota', 'quota']],
    [{ ...noBytes, tokens: 100, reserved: 0, queued: 0 }, 1, ['quota', 'quota', 'quota']],
  ])('with the usage %o and captures of %i tokens', (usage, tokens, expected) => {
    const { verdicts } = admit(freshAdmissionState, fast, usage, requests(3, { tokens }), start);
    expect(refusals(verdicts)).toEqual(expected);
  });

  test('admits a small capture after a large one was refused', () => {
    const usage = { ...noBytes, tokens: 99, reserved: 0, queued: 0 };
    const { verdicts } = admit(freshAdmissionState, fast, usage, [request({ tokens: 2 }), request()], start);
    expect(refusals(verdicts)).toEqual(['quota', null]);
  });

  test('counts a capture in flight until it is released or expires', () => {
    const usage = { ...noBytes, tokens: 99, reserved: 0, queued: 0 };
    const first = request({ until: start + 5000 });
    const { state } = admit(freshAdmissionState, fast, usage, [first], start);
    expect(refusals(admit(state, fast, usage, requests(1), start + 4999).verdicts)).toEqual(['quota']);
    expect(refusals(admit(state, fast, usage, requests(1), start + 5000).verdicts)).toEqual([null]);
    expect(refusals(admit(release(state, [first.id]), fast, usage, requests(1), start + 1).verdicts)).toEqual([null]);
  });
});

describe('byte limits', () => {
  const fast = { ...limits, burst: 1000, maxInFlight: 1000, maxQueued: 1000, maxQueuedBytes: 100, maxStoredBytes: 50 };
  const html = (queuedBytes: number) => request({ priority: 'background', adds: { queuedBytes } });

  test('count the queued HTML from the admission until the release', () => {
    const usage = { ...unused, queuedBytes: 30 };
    const first = html(60);
    const { state, verdicts } = admit(freshAdmissionState, fast, usage, [first, html(11), html(10)], start);
    expect(refusals(verdicts)).toEqual([null, 'bytes', null]);
    expect(verdicts[1]?.exceeded).toEqual({ name: 'maxQueuedBytes', used: 90, max: 100, added: 11 });
    const released = release(state, [first.id]);
    expect(refusals(admit(released, fast, usage, [html(60)], start + 1).verdicts)).toEqual([null]);
  });

  test('count the bytes that another front has reserved', () => {
    const fronts = { other: [0, 1, 1, start + 10_000, 1, 95] as const };
    const { verdicts } = admit({ ...freshAdmissionState, fronts }, fast, unused, [html(6), html(5)], start);
    expect(refusals(verdicts)).toEqual(['bytes', null]);
  });

  test('are checked after the quota, and not for a refresh', () => {
    const usage = { ...unused, storedBytes: 50 };
    const adds = { storedBytes: 1, isFileUnknown: true };
    const { verdicts } = admit(freshAdmissionState, fast, usage, [request({ adds }), request()], start);
    expect(refusals(verdicts)).toEqual(['bytes', null]);
    const poor = { ...fast, tokenQuota: 0 };
    expect(refusals(admit(freshAdmissionState, poor, usage, [request({ adds })], start).verdicts)).toEqual(['quota']);
  });

  test.each([
    ['far from the limit', 400, 10, false],
    ['more than half of the limit', 500, 10, true],
    ['of a small limit', 0, 10, true],
    ['with no HTML', 999, 0, false],
  ])('need an exact usage near the limit: %s', (what, queuedMiB, addedMiB, isNear) => {
    const mebibyte = 2 ** 20;
    const roomy = {
      ...fast,
      tokenQuota: 1e9,
      maxQueued: 1e6,
      maxQueuedBytes: (what === 'of a small limit' ? 60 : 1000) * mebibyte,
    };
    const usage = { ...unused, queuedBytes: queuedMiB * mebibyte };
    const reserved = [0, 1, 1, start, 1, addedMiB * mebibyte] as const;
    expect(isNearUsageLimit({ ...freshAdmissionState, fronts: { a: reserved } }, roomy, usage)).toBe(isNear);
  });
});

describe('capture limits', () => {
  const fast = { ...limits, burst: 1000, tokenQuota: 1000 };

  test('limit the interactive captures in flight', () => {
    const { verdicts } = admit(freshAdmissionState, fast, unused, requests(7), start);
    expect(refusals(verdicts)).toEqual([null, null, null, null, null, 'in-flight', 'in-flight']);
  });

  test('limit the background captures that have not ended, by the ledger and by reservations', () => {
    const usage = { ...noBytes, tokens: 0, reserved: 2, queued: 2 };
    const { verdicts } = admit(freshAdmissionState, fast, usage, requests(4, { priority: 'background' }), start);
    expect(refusals(verdicts)).toEqual([null, null, 'queued', 'queued']);
  });

  test('count each priority separately', () => {
    const many = [...requests(5), ...requests(4, { priority: 'background' })];
    const { verdicts } = admit(freshAdmissionState, fast, unused, many, start);
    expect(refusals(verdicts)).toEqual(Array(9).fill(null));
  });
});

test.each<[string, Partial<UsageSum>, AdmissionRequest['priority'], boolean]>([
  ['far from every limit', {}, 'background', false],
  ['near the quota', { tokens: 9990 }, 'interactive', true],
  ['near the quota, including reserved tokens', { reserved: 9990 }, 'background', true],
  ['near the limit of queued captures', { queued: 990 }, 'background', true],
  ['near the limit of queued captures, for an interactive capture', { queued: 990 }, 'interactive', false],
  ['just below the margin of queued captures', { queued: 879 }, 'background', false],
  ['just within the margin of queued captures', { queued: 880 }, 'background', true],
  ['just below the margin of the quota', { tokens: 9000, reserved: 739 }, 'interactive', false],
  ['just within the margin of the quota', { tokens: 9000, reserved: 740 }, 'interactive', true],
])('isNearUsageLimit: %s', (_name, usage, priority, near) => {
  const wide = { tokenQuota: 10_000, ratePerMinute: 10, burst: 10, maxInFlight: 10, maxQueued: 1000, ...wideBytes };
  const holds = { x: [1, start, priority] as const };
  expect(isNearUsageLimit({ ...freshAdmissionState, holds }, wide, { ...unused, ...usage })).toBe(near);
});

describe('reservations', () => {
  const fast = { ...limits, burst: 1000, tokenQuota: 1000 };
  const front = (interactive: number, background: number, tokens: number, expires: number) =>
    [interactive, background, tokens, expires, 1, 0] as const;

  test('that are only counts apply to all limits until they expire', () => {
    const state = { ...freshAdmissionState, fronts: { a: front(4, 3, 7, start + 5000), b: front(9, 9, 9, start) } };
    const many = [...requests(2), ...requests(2, { priority: 'background' })];
    const refusedAt = (now: number) => refusals(admit(state, fast, unused, many, now).verdicts);
    expect(refusedAt(start)).toEqual([null, 'in-flight', null, 'queued']);
    expect(refusedAt(start + 5000)).toEqual([null, null, null, null]);
    expect([inFlightOf(state, start), inFlightOf(state, start + 5000)]).toEqual([4, 0]);
    const counted = { ...fast, tokenQuota: 8 };
    expect(refusals(admit(state, counted, unused, requests(2), start).verdicts)).toEqual([null, 'quota']);
  });

  test('have an id and a cost, and are removed from the state when they expire', () => {
    const kept = request({ tokens: 3 });
    const gone = request({ until: start + 1000 });
    const { state } = admit(freshAdmissionState, fast, unused, [kept, gone], start);
    expect(state.holds).toEqual({
      [kept.id]: [3, kept.until, 'interactive'],
      [gone.id]: [1, start + 1000, 'interactive'],
    });
    expect(Object.keys(admit(state, fast, unused, [], start + 1000).state.holds)).toEqual([kept.id]);
    expect(release(state, [gone.id, 'unknown']).holds).toEqual({ [kept.id]: [3, kept.until, 'interactive'] });
    expect(inFlightOf(state, start + 1000)).toBe(1);
  });

  test('are made once for repeated requests with one id', () => {
    const one = request();
    const { state } = admit(freshAdmissionState, { ...fast, burst: 1 }, unused, [one], start);
    const again = admit(state, { ...fast, burst: 1, maxInFlight: 1 }, unused, [one, request()], start);
    expect(refusals(again.verdicts)).toEqual([null, 'rate']);
    expect(again.state.holds).toEqual(state.holds);
    const counted = admit(
      freshAdmissionState,
      fast,
      { ...unused, tokens: 1000 },
      [one, request()],
      start,
      new Set([one.id]),
    );
    expect(refusals(counted.verdicts)).toEqual([null, 'quota']);
    expect(counted.state.holds).toEqual({});
  });

  test('without a client request neither use up nor need the rate limit', () => {
    const strict = { ...fast, burst: 1 };
    const own = requests(3, { unrated: true });
    const { state, verdicts } = admit(freshAdmissionState, strict, unused, [...own, ...requests(2)], start);
    expect(refusals(verdicts)).toEqual([null, null, null, null, 'rate']);
    expect(state.tat).toBe(start + 1000);
    expect(admit(freshAdmissionState, strict, unused, own, start).state.tat).toBe(0);
  });

  test('after a limit was changed wait at most for the window of the rate limit', () => {
    const ahead = { ...freshAdmissionState, tat: start + 3_600_000 };
    const { state, verdicts } = admit(ahead, { ...fast, burst: 2 }, unused, requests(1), start);
    expect(verdicts[0]).toMatchObject({ refused: 'rate', retryAfterMs: 1000, resetMs: 2000 });
    expect(state.tat).toBe(start + 2000);
  });

  test('are near their limit above a quarter of the captures in flight', () => {
    const isNear = (interactive: number, maxInFlight: number) =>
      isNearInFlightLimit(
        { ...freshAdmissionState, fronts: { a: front(interactive, 0, 0, start) } },
        { ...limits, maxInFlight },
      );
    expect([isNear(10, 40), isNear(11, 40)]).toEqual([false, true]);
    // 1,000 captures may have ended and still be counted.
    expect([isNear(7000, 8000), isNear(7001, 8000)]).toEqual([false, true]);
  });

  test('count in isNearUsageLimit', () => {
    const wide = { tokenQuota: 10_000, ratePerMinute: 10, burst: 10, maxInFlight: 10, maxQueued: 1000, ...wideBytes };
    const near = (background: number, tokens: number, queued = 0) =>
      isNearUsageLimit({ ...freshAdmissionState, fronts: { a: front(0, background, tokens, start) } }, wide, {
        ...unused,
        queued,
      });
    expect([near(880, 0), near(881, 0), near(0, 0, 1000)]).toEqual([false, true, false]);
    expect([near(1, 0, 879), near(1, 0, 880)]).toEqual([false, true]);
    expect([near(0, 9740), near(0, 9741)]).toEqual([false, true]);
  });
});
