import { describe, expect, test } from 'vitest';
import type { CanaryFacts } from '../../../services/controller/health/facts.ts';
import { byShare, judgeRenderers } from '../../../services/controller/health/renderers.ts';
import { duration } from '../../../services/controller/health/verdict.ts';
import { minCaptures, decideRegion } from '../../../services/controller/health/decider.ts';
import { healthy, heartbeat, idle, region } from '../../integration/controller/support/facts.ts';

describe('the status by healthy and wanted renderers', () => {
  test.each([
    [1, 1, 'operational'],
    [2, 1, 'operational'],
    [3, 4, 'operational'],
    [6, 8, 'operational'],
    [5, 8, 'degraded_performance'],
    [2, 3, 'degraded_performance'],
    [4, 8, 'degraded_performance'],
    [1, 2, 'degraded_performance'],
    [3, 8, 'partial_outage'],
    [1, 3, 'partial_outage'],
    [49, 100, 'partial_outage'],
    [74, 100, 'degraded_performance'],
    [75, 100, 'operational'],
    [1, 100, 'partial_outage'],
    [0, 1, 'major_outage'],
    [0, 100, 'major_outage'],
  ] as const)('with %i of %i healthy is %s', (alive, wanted, status) => {
    expect(byShare(alive, wanted)).toBe(status);
    expect(decideRegion(region({ wanted, pods: healthy(alive) }))?.status).toBe(status);
  });
});

describe('the message about renderers that are not healthy', () => {
  const wanted = 2;
  const pods = healthy(1);
  test.each([
    [{ wanted, pods: healthy(2), silent: [] }, 'operational', '2 of 2 renderers healthy'],
    [
      { wanted, pods, silent: [{ pod: 'us-east-1', forMs: 7200 }] },
      'degraded_performance',
      '1 of 2 renderers healthy: us-east-1 has not been heard for 7 s',
    ],
    [
      { wanted, pods, silent: [{ pod: 'us-east-1', forMs: 240_000 }] },
      'degraded_performance',
      '1 of 2 renderers healthy: us-east-1 has not been heard for 4 min',
    ],
    [{ wanted, pods, silent: [] }, 'degraded_performance', '1 of 2 renderers healthy: 1 not running'],
    [{ wanted, pods: [], silent: [] }, 'major_outage', '0 of 2 renderers healthy: none is running'],
    [
      { wanted, pods: [...pods, heartbeat('b', { browser: 'down' })], silent: [] },
      'degraded_performance',
      '1 of 2 renderers healthy: b has no working browser',
    ],
    [
      { wanted, pods: [heartbeat('b', { draining: true })], silent: [] },
      'major_outage',
      '0 of 2 renderers healthy: b is about to stop, 1 more missing',
    ],
    [
      { wanted: 9, pods: [], silent: ['a', 'b', 'c', 'd', 'e'].map((pod, n) => ({ pod, forMs: 6000 + n * 1000 })) },
      'major_outage',
      '0 of 9 renderers healthy: a has not been heard for 6 s, b has not been heard for 7 s, ' +
        'c has not been heard for 8 s, 6 more missing',
    ],
    // A pod that was replaced long ago is not mentioned while all wanted renderers run.
    [{ wanted, pods: healthy(2), silent: [{ pod: 'old', forMs: 600_000 }] }, 'operational', '2 of 2 renderers healthy'],
    [
      { wanted: 4, pods: healthy(3), silent: [{ pod: 'd', forMs: 6000 }] },
      'operational',
      '3 of 4 renderers healthy: d has not been heard for 6 s',
    ],
  ] as const)('%#: %o', (facts, status, message) => {
    expect(judgeRenderers(facts)).toEqual({ status, message });
  });
});

describe('a region that may scale to zero', () => {
  test.each([
    ['no renderer', [], 'operational', 'scaled to zero'],
    ['one renderer drains', [heartbeat('a', { draining: true })], 'operational', 'scaled to zero'],
    ['one renderer is healthy', healthy(1), 'operational', '1 of 1 renderers healthy'],
    [
      'one renderer is broken',
      [heartbeat('a', { browser: 'down' })],
      'major_outage',
      '0 of 1 renderers healthy: a has no working browser',
    ],
    [
      'one of two renderers is broken',
      [...healthy(1), heartbeat('b', { browser: 'down' })],
      'degraded_performance',
      '1 of 2 renderers healthy: b has no working browser',
    ],
  ] as const)('%s', (_, pods, status, message) => {
    expect(decideRegion(region({ wanted: 0, pods }))).toEqual({ status, message });
  });

  test('is degraded when a capture waits too long', () => {
    const waiting = { ...idle, interactive: 1, oldestInteractiveMs: 15_000 };
    expect(decideRegion(region({ wanted: 0, pods: [], waiting }))).toEqual({
      status: 'degraded_performance',
      message: 'a capture has waited 15 s for a renderer',
    });
  });
});

describe('internal failures of captures', () => {
  test.each([
    [minCaptures, 2, 'operational'],
    [minCaptures, 3, 'degraded_performance'],
    // Two captures are too few: one failure is no outage.
    [2, 1, 'operational'],
    [minCaptures - 1, minCaptures - 1, 'operational'],
    [1000, 200, 'operational'],
    [1000, 201, 'degraded_performance'],
    [1000, 1000, 'degraded_performance'],
  ] as const)('with %i captures ended and %i failed the status is %s', (ended, internalFailures, status) => {
    const pods = [heartbeat('a', { recent: { ended, internalFailures, queueWaitP95Ms: 0 } })];
    expect(decideRegion(region({ pods }))?.status).toBe(status);
  });

  test('are counted over all renderers of the region', () => {
    const recent = { ended: 5, internalFailures: 2, queueWaitP95Ms: 0 };
    expect(decideRegion(region({ wanted: 2, pods: healthy(2, { recent }) }))).toEqual({
      status: 'degraded_performance',
      message: '40% of the last 10 captures failed because of this service',
    });
  });
});

describe('the queue wait', () => {
  test.each([
    [minCaptures, 10_000, null, 'operational'],
    [minCaptures, 10_001, null, 'degraded_performance'],
    [minCaptures - 1, 60_000, null, 'operational'],
    [0, 0, 10_000, 'operational'],
    [0, 0, 10_001, 'degraded_performance'],
  ] as const)(
    'with %i captures, a p95 of %i ms and the oldest waiting %s ms the status is %s',
    (ended, p95, oldest, status) => {
      const pods = healthy(1, { recent: { ended, internalFailures: 0, queueWaitP95Ms: p95 } });
      const waiting = { ...idle, oldestInteractiveMs: oldest };
      expect(decideRegion(region({ pods, waiting }))?.status).toBe(status);
    },
  );

  const recentOf = (ended: number, interactive: number | undefined, queueWaitP95Ms: number) => ({
    ended,
    internalFailures: 0,
    ...(interactive === undefined ? {} : { interactive }),
    queueWaitP95Ms,
  });

  test.each([
    [1, 99],
    // Renderers of an older version.
    [undefined, undefined],
  ])('is weighted by the number of interactive captures (%s and %s)', (few, many) => {
    const slow = heartbeat('a', { recent: recentOf(1, few, 60_000) });
    const fast = heartbeat('b', { recent: recentOf(99, many, 100) });
    expect(decideRegion(region({ wanted: 2, pods: [slow, fast] }))?.status).toBe('operational');
  });

  test('of interactive captures is not reduced by renderers that end many background captures', () => {
    const slow = heartbeat('a', { recent: recentOf(minCaptures, minCaptures, 15_000) });
    const background = heartbeat('b', { recent: recentOf(1000, 0, 0) });
    expect(decideRegion(region({ wanted: 2, pods: [slow, background] }))).toEqual({
      status: 'degraded_performance',
      message: 'captures wait up to 15 s for a renderer',
    });
  });

  test('of few interactive captures does not count, also among many background captures', () => {
    const pods = healthy(1, { recent: recentOf(1000, minCaptures - 1, 60_000) });
    expect(decideRegion(region({ pods }))?.status).toBe('operational');
  });

  test('does not include background captures in the queue', () => {
    const waiting = { ...idle, background: 10_000 };
    expect(decideRegion(region({ waiting }))?.status).toBe('operational');
  });
});

describe('the canary of a region', () => {
  const canary = (fields: Partial<CanaryFacts>): CanaryFacts => ({ last: 'completed', failures: 0, at: 0, ...fields });
  test.each([
    ['completed', canary({ ms: 140 }), 'operational', '1 of 1 renderers healthy'],
    ['one failure', canary({ last: 'failed', failures: 1 }), 'operational', '1 of 1 renderers healthy'],
    [
      'two failures',
      canary({ last: 'failed', failures: 2, reason: 'It broke.' }),
      'partial_outage',
      'the last 2 canary captures failed (It broke)',
    ],
    [
      'two failures without a reason',
      canary({ last: 'failed', failures: 2 }),
      'partial_outage',
      'the last 2 canary captures failed',
    ],
    [
      'two failures with a reason of two sentences',
      canary({ last: 'failed', failures: 2, reason: 'It broke. Twice.' }),
      'partial_outage',
      'the last 2 canary captures failed (It broke. Twice)',
    ],
    [
      'no free slot',
      canary({ last: 'no_free_slot' }),
      'degraded_performance',
      'a canary capture found no free slot in time',
    ],
  ] as const)('%s', (_, facts, status, message) => {
    const { ms } = facts;
    expect(decideRegion(region({ canary: facts }))).toEqual({
      status,
      message,
      ...(ms === undefined ? {} : { responseTimeMs: ms }),
    });
  });

  test('is not mentioned for a region without renderers', () => {
    const verdict = decideRegion(region({ pods: [], canary: canary({ last: 'failed', failures: 3, ms: 9 }) }));
    expect(verdict).toEqual({ status: 'major_outage', message: '0 of 1 renderers healthy: none is running' });
  });
});

test('the worst fact decides the status, and the message lists all reasons, the worst first', () => {
  const recent = { ended: 100, internalFailures: 50, queueWaitP95Ms: 20_000 };
  const verdict = decideRegion(
    region({ wanted: 3, pods: [heartbeat('a', { recent })], silent: [{ pod: 'b', forMs: 8000 }] }),
  );
  expect(verdict).toEqual({
    status: 'partial_outage',
    message:
      '1 of 3 renderers healthy: b has not been heard for 8 s, 1 more missing; ' +
      '50% of the last 100 captures failed because of this service; captures wait up to 20 s for a renderer',
  });
});

test('the silent renderer that was heard last is named first', () => {
  const silent = [
    { pod: 'b', forMs: 90_000 },
    { pod: 'c', forMs: 8000 },
  ];
  expect(judgeRenderers({ wanted: 2, pods: healthy(1), silent }).message).toBe(
    '1 of 2 renderers healthy: c has not been heard for 8 s',
  );
});

test.each([
  [119_999, '120 s'],
  [120_000, '2 min'],
])('a duration of %d ms is shown as %s', (ms, text) => {
  expect(duration(ms)).toBe(text);
});

test('a region that no cluster reports shows this when a renderer is missing', () => {
  const message = (fields: object) => decideRegion(region({ wanted: 2, unreportedForMs: 300_000, ...fields }))?.message;
  expect(message({})).toBe('1 of 2 renderers healthy: 1 not running; no cluster has reported it for 5 min');
  expect(message({ pods: healthy(2) })).toBe('2 of 2 renderers healthy');
});

test('the status is unknown if heartbeats cannot be received, except for renderers that were heard', () => {
  expect(decideRegion(region({ fleetKnown: false, pods: [] }))).toBeNull();
  expect(decideRegion(region({ fleetKnown: false, wanted: 2 }))).toBeNull();
  expect(decideRegion(region({ fleetKnown: false }))?.status).toBe('operational');
});
