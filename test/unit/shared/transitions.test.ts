import { describe, expect, test } from 'vitest';
import type { CaptureRecord, CaptureRefresh } from '@webcapture/shared/captures/capture-record.ts';
import {
  begin,
  cancelQueued,
  complete,
  expire,
  fail,
  failureOf,
  isOpen,
  isRefreshable,
  nextRefreshNumber,
  noteDelivery,
  redeliver,
  refreshOrderOf,
  refuseRefresh,
  remove,
  requeue,
  startRefresh,
  stateOf,
  type RefreshOrder,
  type Transition,
} from '@webcapture/shared/captures/transitions.ts';
import {
  difference,
  noUsage,
  sum,
  type Usage,
  usageKey,
  usageOf,
  usageShards,
} from '@webcapture/shared/captures/usage.ts';
import { newOutcome, newRecord } from '../../harness/records.ts';

const day = 86_400_000;
const accepted = Date.UTC(2026, 10, 30, 12);
const now = accepted + 60_000;
const outcome = newOutcome({ capturedAt: now });
const failure = { code: 'CAPTURE_FAILED', message: 'It did not work.' } as const;

const newRefresh = (changes: Partial<CaptureRefresh> = {}): CaptureRefresh => ({
  revision: 2,
  state: 'queued',
  by: 'request',
  region: 'us-east',
  acceptedAt: now,
  startBy: now + day,
  deadline: now + day,
  ...changes,
});
const orderOf = (revision: number, acceptedAt = now): RefreshOrder => {
  const { state: _state, ...order } = newRefresh({ revision, acceptedAt });
  return order;
};
const background = (changes: Partial<CaptureRecord> = {}) =>
  newRecord({ lane: 'background', acceptedAt: accepted, tokenCost: 3, ...changes });
const completed = (changes: Partial<CaptureRecord> = {}) => background({ status: 'completed', outcome, ...changes });

/** Every state that a record can be in, by name. */
const records: Readonly<Record<string, CaptureRecord>> = {
  queued: background(),
  rendering: background({ status: 'rendering' }),
  failed: background({ status: 'failed', failure, endedAt: now }),
  completed: completed(),
  'refresh queued': completed({ refresh: newRefresh() }),
  'refresh rendering': completed({ refresh: newRefresh({ state: 'rendering' }) }),
  'refresh completed': completed({ refresh: newRefresh({ state: 'completed' }) }),
  'refresh failed': completed({ refresh: newRefresh({ state: 'failed', failure }) }),
  expired: completed({ status: 'expired' }),
  'expired while refreshed': completed({ status: 'expired', refresh: newRefresh({ state: 'rendering' }) }),
  deleted: completed({ status: 'deleted' }),
  'deleted while refreshed': completed({ status: 'deleted', refresh: newRefresh() }),
};
const recordOf = (name: string): CaptureRecord => records[name] ?? background();

/** What becomes of every state: `status` or `status/refresh state`; what is not named stays as it is. */
const later = accepted + 2 * day;
const table: readonly [name: string, Transition, time: number, Readonly<Record<string, string>>][] = [
  ['begin 0', begin(0), now, { queued: 'rendering' }],
  ['begin 1', begin(1), now, {}],
  ['begin 2', begin(2), now, { 'refresh queued': 'completed/rendering' }],
  ['begin 3', begin(3), now, {}],
  ['requeue 0', requeue(0), now, { rendering: 'queued' }],
  ['requeue 1', requeue(1), now, {}],
  ['requeue 2', requeue(2), now, { 'refresh rendering': 'completed/queued' }],
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
  ['start 2, which has been', startRefresh(orderOf(2)), now, {}],
  [
    'start 3',
    startRefresh(orderOf(3)),
    now,
    { 'refresh completed': 'completed/queued', 'refresh failed': 'completed/queued' },
  ],
  ['start 1 in its last millisecond', startRefresh(orderOf(1)), accepted + day - 1, { completed: 'completed/queued' }],
  ['start 1 when its time is over', startRefresh(orderOf(1)), accepted + day, {}],
  ['refuse 1', refuseRefresh(orderOf(1), failure, later), now, { completed: 'completed/failed' }],
  [
    'refuse 3',
    refuseRefresh(orderOf(3), failure, later),
    now,
    { 'refresh completed': 'completed/failed', 'refresh failed': 'completed/failed' },
  ],
  ['expire before its time', expire, accepted + day - 1, {}],
  [
    'expire',
    expire,
    accepted + day,
    {
      completed: 'expired',
      'refresh queued': 'expired/queued',
      'refresh rendering': 'expired/rendering',
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
      'refresh queued': 'deleted/queued',
      'refresh rendering': 'deleted/rendering',
      'refresh completed': 'deleted/completed',
      'refresh failed': 'deleted/failed',
      expired: 'deleted',
      'expired while refreshed': 'deleted/rendering',
    },
  ],
];

describe.each(table)('%s', (_name, transition, time, changes) => {
  test.each(Object.keys(records))('of one that is %s', (name) => {
    const after = transition(recordOf(name), time);
    const shown = after && [after.status, ...(after.refresh === undefined ? [] : [after.refresh.state])].join('/');
    expect(shown).toBe(changes[name] ?? null);
  });
});

test.each([
  ['queued', 'queued', 'none'],
  ['completed', 'completed', 'none'],
  ['refresh queued', 'completed', 'queued'],
  ['refresh rendering', 'completed', 'rendering'],
  ['refresh failed', 'completed', 'failed'],
  ['expired while refreshed', 'expired', 'none'],
  ['deleted while refreshed', 'deleted', 'none'],
])('the state of one that is %s: %s, of its refresh: %s', (name, status, refresh) => {
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

test.each(Object.keys(records))('one that is %s is refreshable only with a file and no refresh under way', (name) => {
  expect(isRefreshable(recordOf(name))).toBe(['completed', 'refresh completed', 'refresh failed'].includes(name));
});

describe('what the record tells afterwards', () => {
  test('the first refresh is due an interval after the picture was taken, and only where there is an interval', () => {
    const nextOf = (persistence?: { refreshIntervalMs: number }) =>
      complete(0, outcome, later)(background(persistence === undefined ? {} : { persistence }), now + 5000)
        ?.nextRefreshAt;
    expect(nextOf({ refreshIntervalMs: 3_600_000 })).toBe(outcome.capturedAt + 3_600_000);
    expect([nextOf({ refreshIntervalMs: 0 }), nextOf()]).toEqual([undefined, undefined]);
  });

  test('a refresh leaves the rhythm alone, gives the file more time, and ends with the capture', () => {
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

  test('a refusal says why, when it was, and when the next one is due; the number is used up', () => {
    const refused = refuseRefresh(orderOf(1), failure, later)(completed(), now);
    expect(refused).toMatchObject({
      nextRefreshAt: later,
      refresh: { revision: 1, state: 'failed', failure, endedAt: now },
    });
    expect(nextRefreshNumber(refused ?? completed())).toBe(2);
    expect(nextRefreshNumber(completed())).toBe(1);
  });

  test('refreshes are charged to the month in which each was accepted', () => {
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
      '202611': { tokens: 9, captures: 3, reserved: 0, queued: 0 },
      '202612': { tokens: 3, captures: 1, reserved: 0, queued: 0 },
    });
  });

  test('a failed refresh is not charged, and its capture keeps its file', () => {
    const after = fail(2, failure)(recordOf('refresh rendering'), now);
    expect(after).toMatchObject({ status: 'completed', outcome, refresh: { state: 'failed', failure, endedAt: now } });
    expect(after).not.toHaveProperty('refreshCharges');
  });

  test('a capture that was cancelled by deleting it has an end; one that had ended keeps its own', () => {
    expect(remove(recordOf('queued'), now + 5)).toMatchObject({ endedAt: now + 5 });
    expect(remove(recordOf('failed'), now + 5)).toMatchObject({ endedAt: now });
  });
});

describe('what the webhook is told', () => {
  const webhook = { url: 'https://hooks.example/', state: 'waiting', attempts: 0 } as const;
  test.each([
    ['completed', complete(0, outcome, later), { webhook }, 'capture.completed', 0],
    ['failed', fail(0, failure), { webhook }, 'capture.failed', 0],
  ] as const)('a capture that %s', (_name, transition, changes, event, revision) => {
    expect(transition(background(changes), now)?.webhook).toEqual({
      url: webhook.url,
      state: 'pending',
      event,
      revision,
      occurredAt: now,
      attempts: 0,
    });
  });

  test('a refresh that completed, in place of what was told before; a failed one is not told', () => {
    const told = { ...webhook, state: 'delivered', event: 'capture.completed', revision: 0, attempts: 3 } as const;
    const record = completed({ webhook: told, refresh: newRefresh() });
    expect(complete(2, outcome, later)(record, now)?.webhook).toMatchObject({
      state: 'pending',
      event: 'capture.refreshed',
      revision: 2,
      attempts: 0,
    });
    expect(fail(2, failure)(record, now)?.webhook).toEqual(told);
  });

  test('nothing where there is none', () => {
    expect(complete(0, outcome, later)(background(), now)).not.toHaveProperty('webhook');
  });

  test('the delivery is noted on the event that it is about, and not on a later one or a deleted capture', () => {
    const pending = { ...webhook, state: 'pending', event: 'capture.refreshed', revision: 2 } as const;
    const delivery = { ...pending, state: 'delivered', attempts: 1, lastStatus: 204 } as const;
    const note = noteDelivery(2, delivery);
    expect(note(completed({ webhook: pending }), now)?.webhook).toEqual(delivery);
    expect(note(completed({ webhook: { ...pending, revision: 3 } }), now)).toBeNull();
    expect(note(completed({ webhook: pending, status: 'deleted' }), now)).toBeNull();
    expect(note(completed(), now)).toBeNull();
  });

  test('an attempt of before a redelivery is kept, and leaves what the record says of the redelivery', () => {
    const first = { ...webhook, state: 'failed', event: 'capture.completed', revision: 0, attempts: 8 } as const;
    const attempt = { event: 'capture.completed', revision: 0, attempt: 8, at: now, state: 'failed' } as const;
    const again = { ...first, state: 'pending', redelivery: 1, attempts: 0 } as const;
    expect(noteDelivery(0, first, attempt)(completed({ webhook: again }), now)).toMatchObject({
      webhook: again,
      deliveryHistory: [attempt],
    });
    const failed = { ...again, state: 'failed', attempts: 8 } as const;
    expect(noteDelivery(0, failed)(completed({ webhook: again }), now)?.webhook).toEqual(failed);
  });

  test('each attempt is kept, the newest first; a change without one adds nothing', () => {
    const pending = { ...webhook, state: 'pending', event: 'capture.refreshed', revision: 2 } as const;
    const attempt = (number: number) =>
      ({ event: 'capture.refreshed', revision: 2, attempt: number, at: now + number, state: 'retrying' }) as const;
    const first = noteDelivery(2, pending, attempt(1))(completed({ webhook: pending }), now);
    const second = noteDelivery(2, pending, attempt(2))(first ?? completed(), now);
    expect(second?.deliveryHistory).toEqual([attempt(2), attempt(1)]);
    expect(noteDelivery(2, pending)(second ?? completed(), now)?.deliveryHistory).toHaveLength(2);
    expect(noteDelivery(2, pending)(completed({ webhook: pending }), now)).not.toHaveProperty('deliveryHistory');
  });

  test('once more from the first attempt on, where something has happened and the capture is there', () => {
    const delivered = {
      ...webhook,
      state: 'delivered',
      event: 'capture.refreshed',
      revision: 2,
      occurredAt: now,
    } as const;
    const again = { url: webhook.url, state: 'pending', event: 'capture.refreshed', revision: 2, occurredAt: now };
    const record = completed({ webhook: { ...delivered, attempts: 3, lastStatus: 500 } });
    const redelivered = redeliver(record, now);
    expect(redelivered?.webhook).toEqual({ ...again, redelivery: 1, attempts: 0 });
    expect(redeliver(redelivered ?? record, now)?.webhook).toEqual({ ...again, redelivery: 2, attempts: 0 });
    expect(redeliver({ ...record, status: 'deleted' }, now)).toBeNull();
    expect(redeliver(completed({ webhook }), now)).toBeNull();
    expect(redeliver(completed(), now)).toBeNull();
  });
});

/** Numbers below 1, the same ones for the same seed (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const totalOf = (record: CaptureRecord): Usage => [...usageOf(record).values()].reduce(sum, noUsage);

test('whatever happens in whatever order, the books never go below zero, and tokens are never given back', () => {
  const seen = new Set<string>();
  for (let seed = 1; seed <= 500; seed++) {
    const random = randomOf(seed);
    const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
    let time = accepted;
    let record: CaptureRecord = background({
      lane: pick(['interactive', 'background']),
      persistence: { refreshIntervalMs: pick([0, day]) },
    });
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
        complete(revision, outcome, time + day),
        complete(revision, outcome, time + day),
        fail(revision, failure),
        cancelQueued(revision, failure),
        startRefresh(orderOf(revision, time), time + day),
        startRefresh(orderOf(nextRefreshNumber(record), time), time + day),
        refuseRefresh(orderOf(revision, time), failure, time + day),
        expire,
        ...(random() < 0.1 ? [remove] : []),
      ]);
      const before = totalOf(record);
      record = transition(record, time) ?? record;
      const after = totalOf(record);
      const openTurns =
        (record.lane === 'background' && isOpen(record) ? 1 : 0) +
        (isOpen(record, record.refresh?.revision ?? -1) ? 1 : 0);
      const where = `seed ${seed}, step ${step}`;
      for (const usage of usageOf(record).values()) {
        expect(Math.min(...Object.values(usage)), where).toBeGreaterThanOrEqual(0);
      }
      expect(after.tokens, where).toBeGreaterThanOrEqual(before.tokens);
      expect(after.captures - before.captures, where).toBeLessThanOrEqual(1);
      expect(after.tokens, where).toBe(after.captures * record.tokenCost);
      expect([after.queued, after.reserved], where).toEqual([openTurns, openTurns * record.tokenCost]);
      seen.add([record.status, record.refresh?.state].join('/'));
    }
  }
  // It got about: every status, and every state of a refresh.
  for (const state of ['failed/', 'expired/', 'deleted/', 'completed/queued', 'completed/rendering']) {
    expect([...seen], state).toContain(state);
  }
  expect([...seen]).toEqual(expect.arrayContaining(['completed/completed', 'completed/failed', 'expired/completed']));
});

test('a capture that its client gave up tells its webhook nothing: as far as that client knows, it was never accepted', () => {
  const webhook = { url: 'https://hooks.example/', state: 'waiting', attempts: 0 } as const;
  const cancelled = { ...failure, cancelled: true } as const;
  for (const transition of [fail(0, cancelled), cancelQueued(0, cancelled)]) {
    const ended = transition(background({ webhook }), now);
    expect(ended).toMatchObject({ status: 'failed', failure: { cancelled: true }, webhook });
    expect(ended?.webhook).toEqual(webhook);
  }
  expect(cancelQueued(0, failure)(background({ webhook }), now)?.webhook).toMatchObject({ state: 'pending' });
});

describe('secrets', () => {
  const secrets = { key: 'a', sealed: 'b' };

  test.each<[string, Transition, CaptureRecord, number]>([
    ['fails', fail(0, failure), background({ secrets }), now],
    ['is cancelled', cancelQueued(0, failure), background({ secrets }), now],
    ['expires', expire, completed({ secrets }), accepted + 40 * day],
    ['is deleted', remove, completed({ secrets }), now],
  ])('end with a capture that %s', (_name, transition, record, at) => {
    const after = transition(record, at);
    expect(after).not.toBeNull();
    expect(after).not.toHaveProperty('secrets');
  });

  test.each<[string, Transition, CaptureRecord]>([
    ['completes', complete(0, outcome, now + day), background({ status: 'rendering', secrets })],
    ['fails to be refreshed', fail(2, failure), completed({ secrets, refresh: newRefresh() })],
  ])('are kept with a capture that %s', (_name, transition, record) => {
    expect(transition(record, now)).toMatchObject({ secrets });
  });
});

test('a capture tells its own failure, and by any other number that of its last refresh', () => {
  const other = { code: 'NAVIGATION_FAILED', message: 'It was not there.' } as const;
  const record = completed({ failure, refresh: newRefresh({ state: 'failed', failure: other }) });
  expect([failureOf(record, 0), failureOf(record, 2)]).toEqual([failure, other]);
  expect(failureOf(background(), 1)).toBeUndefined();
});

test('a refresh has as long to begin as a background capture, and its capture’s time after that', () => {
  const order = refreshOrderOf(completed(), { by: 'interval', region: 'eu-west', acceptedAt: now });
  expect(order).toMatchObject({ revision: 1, by: 'interval', region: 'eu-west', acceptedAt: now, startBy: now + day });
  expect(order.deadline).toBeGreaterThan(order.startBy);
});

describe('the ledger', () => {
  const use = (changes: Partial<Usage>): Usage => ({ ...noUsage, ...changes });

  test('tells by month what one has and the other has not', () => {
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
      { month: '202611', change: use({ tokens: 3, captures: 1, reserved: -3, queued: -1 }) },
      { month: '202612', change: use({ tokens: 2, captures: 1 }) },
    ]);
    expect(difference(new Map(), new Map([['202611', use({ tokens: 3 })]]))).toEqual([
      { month: '202611', change: use({ tokens: -3 }) },
    ]);
  });

  test('of an account lies in a shard by the capture, and uses all of them', () => {
    const keys = Array.from({ length: 500 }, (_, index) => usageKey('acme', '202611', `capture-${index}`));
    expect(new Set(keys.map((key) => key.split('.').slice(0, 3).join('.')))).toEqual(new Set(['usage.acme.202611']));
    expect(new Set(keys).size).toBe(usageShards);
    expect(usageKey('acme', '202611', 'capture-7')).toBe(keys[7]);
  });

  test('counts what was shown once, however it ended, and nothing without a file', () => {
    expect(usageOf(background({ status: 'failed', failure })).size).toBe(0);
    expect([...usageOf(completed({ status: 'deleted' })).values()]).toEqual([use({ tokens: 3, captures: 1 })]);
  });
});
