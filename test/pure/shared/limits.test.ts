import { describe, expect, test } from 'vitest';
import {
  admit,
  freshAdmissionState,
  release,
  type AccountLimits,
  type AdmissionRequest,
  type AdmissionState,
  isNearLimit,
  type UsageSum,
} from '@webcapture/shared/accounts/limits.ts';

const limits: AccountLimits = { tokenQuota: 100, ratePerMinute: 60, burst: 3, maxInFlight: 5, maxQueued: 4 };
const unused = { tokens: 0, reserved: 0, queued: 0 };
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

  test('lets the burst through, then one each interval', () => {
    const first = admit(freshAdmissionState, wide, unused, requests(5), start);
    expect(refusals(first.verdicts)).toEqual([null, null, null, 'rate', 'rate']);
    expect(first.verdicts.map(({ remaining }) => remaining)).toEqual([2, 1, 0, 0, 0]);
    expect(first.verdicts[3]).toMatchObject({ retryAfterMs: 1000, resetMs: 3000 });

    const early = admit(first.state, wide, unused, requests(1), start + 999);
    expect(early.verdicts[0]).toMatchObject({ refused: 'rate', retryAfterMs: 1 });
    const inTime = admit(first.state, wide, unused, requests(2), start + 1000);
    expect(refusals(inTime.verdicts)).toEqual([null, 'rate']);
  });

  test('a quiet time brings back no more than the burst', () => {
    const { state } = admit(freshAdmissionState, wide, unused, requests(3), start);
    const later = admit(state, wide, unused, requests(4), start + 3_600_000);
    expect(refusals(later.verdicts)).toEqual([null, null, null, 'rate']);
  });

  test('never lets more through than burst plus rate, whatever the pattern', () => {
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
    [{ tokens: 98, reserved: 0, queued: 0 }, 1, [null, null, 'quota']],
    [{ tokens: 98, reserved: 1, queued: 1 }, 1, [null, 'quota', 'quota']],
    [{ tokens: 97, reserved: 0, queued: 0 }, 2, [null, 'quota', 'quota']],
    [{ tokens: 100, reserved: 0, queued: 0 }, 1, ['quota', 'quota', 'quota']],
  ])('usage %o, captures of %i tokens', (usage, tokens, expected) => {
    const { verdicts } = admit(freshAdmissionState, fast, usage, requests(3, { tokens }), start);
    expect(refusals(verdicts)).toEqual(expected);
  });

  test('a small capture still fits where a large one did not', () => {
    const usage = { tokens: 99, reserved: 0, queued: 0 };
    const { verdicts } = admit(freshAdmissionState, fast, usage, [request({ tokens: 2 }), request()], start);
    expect(refusals(verdicts)).toEqual(['quota', null]);
  });

  test('what is in flight counts until it is released or lapses', () => {
    const usage = { tokens: 99, reserved: 0, queued: 0 };
    const first = request({ until: start + 5000 });
    const { state } = admit(freshAdmissionState, fast, usage, [first], start);
    expect(refusals(admit(state, fast, usage, requests(1), start + 4999).verdicts)).toEqual(['quota']);
    expect(refusals(admit(state, fast, usage, requests(1), start + 5001).verdicts)).toEqual([null]);
    expect(refusals(admit(release(state, [first.id]), fast, usage, requests(1), start + 1).verdicts)).toEqual([null]);
  });
});

describe('caps', () => {
  const fast = { ...limits, burst: 1000, tokenQuota: 1000 };

  test('interactive captures in flight', () => {
    const { verdicts } = admit(freshAdmissionState, fast, unused, requests(7), start);
    expect(refusals(verdicts)).toEqual([null, null, null, null, null, 'in-flight', 'in-flight']);
  });

  test('background captures that have not ended, by the books and on their way there', () => {
    const usage = { tokens: 0, reserved: 2, queued: 2 };
    const { verdicts } = admit(freshAdmissionState, fast, usage, requests(4, { priority: 'background' }), start);
    expect(refusals(verdicts)).toEqual([null, null, 'queued', 'queued']);
  });

  test('the lanes do not count against each other', () => {
    const many = [...requests(5), ...requests(4, { priority: 'background' })];
    const { verdicts } = admit(freshAdmissionState, fast, unused, many, start);
    expect(refusals(verdicts)).toEqual(Array(9).fill(null));
  });
});

test.each<[string, Partial<UsageSum>, AdmissionRequest['priority'], boolean]>([
  ['far from everything', {}, 'background', false],
  ['near the quota', { tokens: 9990 }, 'interactive', true],
  ['near the quota by what is set aside', { reserved: 9990 }, 'background', true],
  ['near the cap on what waits', { queued: 990 }, 'background', true],
  ['near the cap on what waits, which an interactive capture does not need', { queued: 990 }, 'interactive', false],
  ['just far enough from that cap', { queued: 879 }, 'background', false],
])('%s', (_name, usage, priority, near) => {
  const wide = { tokenQuota: 10_000, ratePerMinute: 10, burst: 10, maxInFlight: 10, maxQueued: 1000 };
  const request = { id: 'x', tokens: 1, priority, until: 1 };
  const sum = { tokens: 0, reserved: 0, queued: 0, ...usage };
  expect(isNearLimit(freshAdmissionState, wide, sum, [request])).toBe(near);
});
