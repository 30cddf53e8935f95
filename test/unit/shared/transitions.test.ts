import { describe, expect, test } from 'vitest';
import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import {
  attemptOf,
  begin,
  cancelQueued,
  complete,
  expire,
  fail,
  failureOf,
  isOpen,
  isRefreshable,
  nextRefreshNumber,
  refreshOrderOf,
  refuseRefresh,
  remove,
  requeue,
  startRefresh,
  stateOf,
  type Transition,
} from '@webcapture/shared/captures/transitions.ts';
import { newOutcome } from '../../harness/records.ts';
import {
  accepted,
  background,
  completed,
  day,
  failure,
  later,
  newRefresh,
  now,
  orderOf,
  outcome,
  recordOf,
  records,
} from './transition-records.ts';

/** The results of a transition, by the state before it: `status` or `status/refresh state`. States that are not listed do not change. */
const table: readonly [name: string, Transition, time: number, Readonly<Record<string, string>>][] = [
  ['begin 0', begin(0), now, { queued: 'rendering' }],
  ['begin 1', begin(1), now, {}],
  ['begin 2', begin(2), now, { 'refresh queued': 'completed/rendering' }],
  ['begin 3', begin(3), now, {}],
  ['requeue 0', requeue(0, 2), now, { queued: 'queued', rendering: 'queued' }],
  ['requeue 1', requeue(1, 2), now, {}],
  ['requeue 2', requeue(2, 2), now, { 'refresh queued': 'completed/queued', 'refresh rendering': 'completed/queued' }],
  ['complete 0', complete(0, outcome, later), now, { queued: 'completed', rendering: 'completed' }],
  ['complete 1', complete(1, outcome, later), now, {}],
  [
    'complete 2',
    complete(2, outcome, later),
    now,
    { 'refresh queued': 'completed/completed', 'refresh rendering': 'completed/completed' },
  ],
  ['complete 3', complete(3, outcome, later), now, {}],
  ['fail 0', fail(0, failure), now, { queued: 'failed', rendering: 'failed' }],
  ['fail 1', fail(1, failure), now, {}],
  ['fail 2', fail(2, failure), now, { 'refresh queued': 'completed/failed', 'refresh rendering': 'completed/failed' }],
  ['cancel 0', cancelQueued(0, failure), now, { queued: 'failed' }],
  ['cancel 2', cancelQueued(2, failure), now, { 'refresh queued': 'completed/failed' }],
  ['start 1', startRefresh(orderOf(1)), now, { completed: 'completed/queued' }],
  ['start 2, which was used', startRefresh(orderOf(2)), now, {}],
  [
    'start 3',
    startRefresh(orderOf(3)),
    now,
    { 'refresh completed': 'completed/queued', 'refresh failed': 'completed/queued' },
  ],
  [
    'start 1 one millisecond before the expiry',
    startRefresh(orderOf(1)),
    accepted + day - 1,
    { completed: 'completed/queued' },
  ],
  ['start 1 at the expiry', startRefresh(orderOf(1)), accepted + day, {}],
  ['refuse 1', refuseRefresh(orderOf(1), failure, later), now, { completed: 'completed/failed' }],
  [
    'refuse 3',
    refuseRefresh(orderOf(3), failure, later),
    now,
    { 'refresh completed': 'completed/failed', 'refresh failed': 'completed/failed' },
  ],
  ['expire before the expiry', expire, accepted + day - 1, {}],
  [
    'expire',
    expire,
    accepted + day,
    {
      completed: 'expired',
      'refresh queued': 'expired/failed',
      'refresh rendering': 'expired/failed',
      'refresh completed': 'expired/completed',
      'refresh failed': 'expired/failed',
    },
  ],
  [
    'remove',
    remove,
    now,
    {
      queued: 'deleted',
      failed: 'deleted',
      completed: 'deleted',
      'refresh queued': 'deleted/failed',
      'refresh rendering': 'deleted/failed',
      'refresh completed': 'deleted/completed',
      'refresh failed': 'deleted/failed',
      expired: 'deleted',
      'expired while refreshed': 'deleted/rendering',
    },
  ],
];

describe.each(table)('transition %s', (_name, transition, time, changes) => {
  test.each(Object.keys(records))('of a record that is %s', (name) => {
    const after = transition(recordOf(name), time);
    const shown = after && [after.status, ...(after.refresh === undefined ? [] : [after.refresh.state])].join('/');
    expect(shown).toBe(changes[name] ?? null);
  });
});

test.each([
  ['rendering', 0],
  ['refresh rendering', 2],
])('each attempt of a record that is %s starts once, and not after a later one', (name, refreshNumber) => {
  const first = recordOf(name);
  expect(attemptOf(first, refreshNumber)).toBe(1);
  const third = requeue(refreshNumber, 3)(first, now);
  if (third === null) throw new Error('the third attempt did not begin');
  expect(attemptOf(third, refreshNumber)).toBe(3);
  const again = begin(refreshNumber)(third, now) ?? third;
  expect([2, 3].map((attempt) => requeue(refreshNumber, attempt)(again, now))).toEqual([null, null]);
  expect(requeue(refreshNumber, 4)(again, now)).not.toBeNull();
});

test.each([
  ['queued', 'queued', 'none'],
  ['completed', 'completed', 'none'],
  ['refresh queued', 'completed', 'queued'],
  ['refresh rendering', 'completed', 'rendering'],
  ['refresh failed', 'completed', 'failed'],
  ['expired while refreshed', 'expired', 'none'],
  ['deleted while refreshed', 'deleted', 'none'],
])('the state of a record that is %s is %s, and that of its refresh %s', (name, status, refresh) => {
  const record = recordOf(name);
  expect([stateOf(record, 0), stateOf(record, 2), stateOf(record, 1), stateOf(record, 3)]).toEqual([
    status,
    refresh,
    'none',
    'none',
  ]);
  expect(isOpen(record)).toBe(['queued', 'rendering'].includes(status));
  expect(isOpen(record, 2)).toBe(['queued', 'rendering'].includes(refresh));
});

test.each(Object.keys(records))(
  'a record that is %s can be refreshed only with a file and without a refresh in progress',
  (name) => {
    expect(isRefreshable(recordOf(name))).toBe(['completed', 'refresh completed', 'refresh failed'].includes(name));
  },
);

describe('the record after a transition', () => {
  test('has its first refresh one refresh interval after the screenshot, and none without an interval', () => {
    const nextOf = (persistence?: { refreshIntervalMs: number }) =>
      complete(0, outcome, later)(background(persistence === undefined ? {} : { persistence }), now + 5000)
        ?.nextRefreshAt;
    expect(nextOf({ refreshIntervalMs: 3_600_000 })).toBe(outcome.capturedAt + 3_600_000);
    expect([nextOf({ refreshIntervalMs: 0 }), nextOf()]).toEqual([undefined, undefined]);
  });

  test('has its first refresh at the first time of its schedule after the screenshot', () => {
    const schedule = { cron: '30 6 * * *', timeZone: 'Asia/Kolkata' };
    const record = background({ persistence: { refreshIntervalMs: 0, schedule } });
    const capturedAt = Date.UTC(2026, 2, 5, 1, 0);
    expect(complete(0, { ...outcome, capturedAt }, later)(record, now)?.nextRefreshAt).toBe(capturedAt + 86_400_000);
  });

  test('keeps the time of its next refresh during a refresh, expires later after it, and has no next refresh when it ends', () => {
    const record = completed({ nextRefreshAt: now + 1000 });
    const started = startRefresh(orderOf(1), now + 5000)(record, now);
    expect(started).toMatchObject({ nextRefreshAt: now + 5000, refresh: { revision: 1, state: 'queued' } });
    expect(startRefresh(orderOf(1))(record, now)).toMatchObject({ nextRefreshAt: now + 1000 });
    const done = complete(1, newOutcome({ fileSizeBytes: 99 }), later)(started ?? record, now + 7);
    expect(done).toMatchObject({
      nextRefreshAt: now + 5000,
      expiresAt: later,
      outcome: { fileSizeBytes: 99 },
      refresh: { state: 'completed', endedAt: now + 7 },
    });
    for (const end of [expire, remove]) expect(end(done ?? record, later)).not.toHaveProperty('nextRefreshAt');
  });

  test('has the reason and time of a refused refresh, the time of the next one, and a higher refresh number', () => {
    const refused = refuseRefresh(orderOf(1), failure, later)(completed(), now);
    expect(refused).toMatchObject({
      nextRefreshAt: later,
      refresh: { revision: 1, state: 'failed', failure, endedAt: now },
    });
    expect(nextRefreshNumber(refused ?? completed())).toBe(2);
    expect(nextRefreshNumber(completed())).toBe(1);
  });

  test('has the time of its deletion as its end, unless it had ended before', () => {
    expect(remove(recordOf('queued'), now + 5)).toMatchObject({ endedAt: now + 5 });
    expect(remove(recordOf('failed'), now + 5)).toMatchObject({ endedAt: now });
  });

  test.each([
    ['expires', expire, accepted + 40 * day, 'expired'],
    ['is deleted', remove, now, 'deleted'],
  ])('has the end of a refresh that is in progress when the capture %s, also in its history', (_, end, time, how) => {
    const after = end(recordOf('refresh rendering'), time);
    expect(after?.refresh).toMatchObject({ endedAt: time, failure: { code: 'CONFLICT', cancelled: true } });
    expect(after?.refresh?.failure?.message).toContain(how);
    expect(after?.refreshHistory?.[0]).toMatchObject({ number: 2, endedAt: time });
  });
});

describe('the secrets of a record', () => {
  const secrets = { key: 'a', sealed: 'b' };

  test.each<[string, Transition, CaptureRecord, number]>([
    ['fails', fail(0, failure), background({ secrets }), now],
    ['is cancelled', cancelQueued(0, failure), background({ secrets }), now],
    ['expires', expire, completed({ secrets }), accepted + 40 * day],
    ['is deleted', remove, completed({ secrets }), now],
  ])('are removed when the capture %s', (_name, transition, record, at) => {
    const after = transition(record, at);
    expect(after).not.toBeNull();
    expect(after).not.toHaveProperty('secrets');
  });

  test.each<[string, Transition, CaptureRecord]>([
    ['completes', complete(0, outcome, now + day), background({ status: 'rendering', secrets })],
    ['fails to refresh', fail(2, failure), completed({ secrets, refresh: newRefresh() })],
  ])('are kept when the capture %s', (_name, transition, record) => {
    expect(transition(record, now)).toMatchObject({ secrets });
  });
});

test('failureOf returns the failure of the capture for number 0, and that of the last refresh for others', () => {
  const other = { code: 'NAVIGATION_FAILED', message: 'It was not there.', cause: 'page' } as const;
  const record = completed({ failure, refresh: newRefresh({ state: 'failed', failure: other }) });
  expect([failureOf(record, 0), failureOf(record, 2)]).toEqual([failure, other]);
  expect(failureOf(background(), 1)).toBeUndefined();
});

test('a refresh must start within the time of a background capture, and then has the time of its capture', () => {
  const order = refreshOrderOf(completed(), { by: 'interval', region: 'eu-west', acceptedAt: now });
  expect(order).toMatchObject({ revision: 1, by: 'interval', region: 'eu-west', acceptedAt: now, startBy: now + day });
  expect(order.deadline).toBeGreaterThan(order.startBy);
});
