import { afterEach, describe, expect, test } from 'vitest';
import type { ComponentStatus, StatusReport, StatusValue } from '@webcapture/shared/api/status.ts';
import { engineStatus, overlayStatus, StatusCache, type StatusView } from '../../../services/front/status-cache.ts';
import { buildAppAlone } from './app-alone.ts';
import { fake } from '../../harness/fake.ts';
import { quietReport } from '../../harness/quiet-report.ts';

const now = Date.parse('2025-08-19T09:30:10.000Z');
const at = now - 4000;
const lastCheckedAt = new Date(at).toISOString();

const component = (name: string, status: StatusValue = 'operational'): ComponentStatus => ({
  name,
  status,
  lastCheckedAt,
});
const names = ['queue', 'storage', 'engine', 'engine.us-east'];
const report = (changes: Record<string, StatusValue> = {}): StatusReport => ({
  ...quietReport,
  components: names.map((name) => component(name, changes[name])),
  queued: { 'us-east': 3 },
  at,
});
const view = (changes: Partial<StatusView> = {}): StatusView => ({
  report: report(),
  reportAgeMs: 4000,
  installed: ['us-east'],
  natsDownMs: 0,
  now,
  ...changes,
});
const statusOf = (changes: Partial<StatusView>, name: string) =>
  overlayStatus(view(changes)).components?.find((each) => each.name === name);

test('the report of the controller is served unchanged, with the component api first', () => {
  expect(overlayStatus(view())).toEqual({
    status: 'operational',
    components: [
      { name: 'api', status: 'operational', lastCheckedAt: new Date(now).toISOString() },
      ...names.map((name) => component(name)),
    ],
    lastCheckedAt,
  });
});

test.each<[Record<string, StatusValue>, StatusValue]>([
  [{}, 'operational'],
  [{ engine: 'degraded_performance' }, 'degraded_performance'],
  [{ engine: 'partial_outage', storage: 'degraded_performance' }, 'partial_outage'],
  [{ queue: 'major_outage', engine: 'partial_outage' }, 'major_outage'],
])('with %j the overall status is %s', (changes, status) => {
  expect(overlayStatus(view({ report: report(changes) })).status).toBe(status);
});

describe('an outdated report', () => {
  test.each([
    [30_000, 'operational'],
    [30_001, 'degraded_performance'],
  ])('of %d ms makes the status %s', (reportAgeMs, status) => {
    expect(overlayStatus(view({ reportAgeMs })).status).toBe(status);
  });

  test('is named in each component, and improves no status', () => {
    const stale = { reportAgeMs: 45_000, report: report({ engine: 'major_outage' }) };
    expect(statusOf(stale, 'queue')).toEqual({
      name: 'queue',
      status: 'degraded_performance',
      message: 'The controller has not reported for 45 s.',
      lastCheckedAt,
    });
    expect(statusOf(stale, 'engine')?.status).toBe('major_outage');
    expect(statusOf(stale, 'api')?.status).toBe('operational');
  });
});

test('without a report every component is degraded', () => {
  const { status, components } = overlayStatus(view({ report: null }));
  expect(status).toBe('degraded_performance');
  expect(components?.map(({ name }) => name)).toEqual(['api', ...names]);
});

test.each([
  [2000, 'operational', 'operational'],
  [2001, 'major_outage', 'partial_outage'],
])('without NATS for %d ms the queue is %s', (natsDownMs, queue, api) => {
  expect(statusOf({ natsDownMs }, 'queue')?.status).toBe(queue);
  expect(statusOf({ natsDownMs }, 'api')?.status).toBe(api);
  expect(overlayStatus(view({ natsDownMs })).status).toBe(queue);
});

test('engineStatus returns the status of the engine alone', () => {
  expect(engineStatus(view({ report: report({ engine: 'partial_outage' }) }))).toEqual(
    component('engine', 'partial_outage'),
  );
  expect(engineStatus(view({ report: null }))).toMatchObject({ name: 'engine', status: 'degraded_performance' });
});

describe('the age of a report', () => {
  const clock = { time: now, monotonic: 0 };
  const board = () =>
    new StatusCache(['us-east'], fake({ downForMs: () => 0 }), {
      now: () => clock.time,
      monotonic: () => clock.monotonic,
    });

  test('counts from its own time if it was stored before', () => {
    const old = board();
    old.expectReplay();
    old.apply({ ...report(), at: clock.time - 60_000 });
    clock.monotonic += 1000;
    expect(old.view().reportAgeMs).toBe(61_000);
  });

  test('counts from its arrival if it arrives live, even if the clock of its writer is wrong', () => {
    const live = board();
    live.expectReplay();
    live.apply(report());
    live.apply({ ...report(), at: clock.time - 600_000 });
    clock.monotonic += 2000;
    expect(live.view().reportAgeMs).toBe(2000);
  });

  test('is not reset by a repeated report, nor by its deletion', () => {
    const again = board();
    again.apply(report());
    again.apply({ ...report(), at: at + 1 });
    clock.monotonic += 5000;
    again.expectReplay();
    again.apply({ ...report(), at: at + 1 });
    again.apply(null);
    expect(again.view()).toMatchObject({ reportAgeMs: 5000, report: { at: at + 1 } });
    expect(again.queued()).toEqual({ 'us-east': 3 });
  });
});

describe('over HTTP', () => {
  let current = view();
  const app = buildAppAlone({ view: () => current });
  afterEach(() => (current = view()));

  test.each<[StatusValue, number]>([
    ['operational', 200],
    ['degraded_performance', 503],
    ['partial_outage', 503],
    ['major_outage', 503],
  ])('%s is a %d for the overall status and the engine', async (status, code) => {
    current = view({ report: report({ engine: status }) });
    const overall = await (await app).inject('/status');
    expect([overall.statusCode, overall.json().status]).toEqual([code, status]);
    expect(overall.json()).not.toHaveProperty('success');
    expect(overall.headers['cache-control']).toBe('no-store');
    const engine = await (await app).inject('/status/engine');
    expect([engine.statusCode, engine.json().name, engine.json().status]).toEqual([code, 'engine', status]);
  });
});
