import { describe, expect, test } from 'vitest';
import type { ComponentHistory } from '@webcapture/shared/statistics/component-history.ts';
import type { StatusReport } from '@webcapture/shared/api/status.ts';
import { historyView } from '../../../services/front/plugins/status-page/history-cache.ts';
import { atomFeed } from '../../../services/front/plugins/status-page/feed.ts';
import { barClasses, dayText, duration, summaryOf } from '../../../services/front/plugins/status-page/render.ts';
import { quietReport } from '../../harness/quiet-report.ts';

const hour = 3_600_000;
const now = Date.parse('2026-03-10T12:00:00Z');

const stored = (changes: Partial<ComponentHistory> = {}): ComponentHistory => ({
  format: 1,
  name: 'queue',
  status: 'operational',
  observedUntil: now - 200_000,
  days: [
    { date: '2026-03-08', ms: [6 * hour, 0, 2 * hour, 0] },
    { date: '2026-03-10', ms: [12 * hour - 200_000, 0, 0, 0] },
  ],
  incidents: [],
  ...changes,
});
const report = (readAt = now - 2000): StatusReport => ({
  ...quietReport,
  components: [{ name: 'queue', status: 'operational', lastCheckedAt: new Date(readAt).toISOString() }],
  at: now - 2000,
});
const silent = { report: null, reportAgeMs: 0 };
const viewOf = (history: ComponentHistory, status: { report: StatusReport | null; reportAgeMs: number } = silent) =>
  historyView([history], status, now).components[0];

describe('the history of GET /status/history.json', () => {
  test('has every day since the first, with the time without data', () => {
    expect(viewOf(stored())).toEqual({
      name: 'queue',
      observedUntil: '2026-03-10T11:56:40.000Z',
      uptimePercent: 89.97,
      days: [
        { date: '2026-03-08', operational: 21_600, partial_outage: 7200, noData: 57_600 },
        { date: '2026-03-09', noData: 86_400 },
        { date: '2026-03-10', operational: 43_000, noData: 200 },
      ],
    });
  });

  test('has the services before the regions, which are sorted by name', () => {
    const names = ['region-b', 'engine', 'region-a', 'queue', 'storage'];
    const { components } = historyView(
      names.map((name) => stored({ name })),
      silent,
      now,
    );
    expect(components.map(({ name }) => name)).toEqual(['queue', 'storage', 'engine', 'region-a', 'region-b']);
  });

  test('continues to the last status while the controller publishes it', () => {
    const view = viewOf(stored(), { report: report(), reportAgeMs: 2000 });
    expect(view?.observedUntil).toBe('2026-03-10T11:59:58.000Z');
    expect(view?.days.at(-1)).toEqual({ date: '2026-03-10', operational: 43_198 });
  });

  test('has no data after the last report of a silent controller, also across days', () => {
    const status = { report: report(), reportAgeMs: 31_000 };
    expect(viewOf(stored(), status)?.days.at(-1)).toEqual({ date: '2026-03-10', operational: 43_169, noData: 31 });
    const before = stored({ days: [{ date: '2026-03-08', ms: [hour, 0, 0, 0] }], observedUntil: now - 60 * hour });
    expect(viewOf(before, status)?.days.map(({ date, noData }) => [date, noData])).toEqual([
      ['2026-03-08', 82_800],
      ['2026-03-09', 86_400],
      ['2026-03-10', 43_200],
    ]);
  });

  test('has no data after the last reading of a component', () => {
    const view = viewOf(stored(), { report: report(now - 190_000), reportAgeMs: 2000 });
    expect(view?.days.at(-1)).toEqual({ date: '2026-03-10', operational: 43_010, noData: 190 });
  });

  test('has at most 90 days, none of them older or in the future', () => {
    const days = ['2025-12-10', '2025-12-11', '2026-03-11'].map((date) => ({ date, ms: [hour, 0, 0, 0] }));
    const view = viewOf(stored({ days }));
    expect([view?.days[0]?.date, view?.days.at(-1)?.date, view?.days.length]).toEqual(['2025-12-11', '2026-03-10', 90]);
  });
});

describe('the feed', () => {
  const message = '0 of 2 renderers: <b>&</b> \ufffe\u0008 "x"';
  const incident = (startedAt: number, endedAt: number | null) =>
    ({
      startedAt,
      endedAt,
      status: 'major_outage',
      message,
      updates: [{ at: startedAt, status: 'major_outage', message }],
      interruptions: 2,
    }) as const;
  const feedOf = (endedAt: number | null) => {
    const history = stored({ name: 'engine.us-east', incidents: [incident(now - hour, endedAt)] });
    const aggregate = stored({ name: 'engine', incidents: [incident(now - hour, endedAt)] });
    return atomFeed(historyView([history, aggregate], silent, now), 'https://capture.test/api');
  };

  test('keeps the id of an incident, and has the time of its last change', () => {
    const [open, ended] = [feedOf(null), feedOf(now)];
    const ids = (feed: string) => feed.match(/<id>[^<]*<\/id>/g);
    expect(ids(open)).toEqual([
      '<id>tag:capture.test,2025:status</id>',
      '<id>tag:capture.test,2025:status/engine.us-east.20260310T110000000Z</id>',
    ]);
    expect(ids(ended)).toEqual(ids(open));
    expect(open).toContain('<updated>2026-03-10T11:00:00.000Z</updated>');
    expect(ended).toContain('<updated>2026-03-10T12:00:00.000Z</updated>');
    expect([open, ended].map((feed) => /<title>US East: ([^<]*)/.exec(feed)?.[1])).toEqual([
      'major outage',
      'major outage (resolved)',
    ]);
  });

  test('is unchanged while nothing happens, and contains only valid XML characters', () => {
    expect(feedOf(null)).toBe(feedOf(null));
    expect(feedOf(null)).not.toMatch(/[\ufffe\b]|<b>/);
    expect(feedOf(null)).toContain('&amp;lt;b&amp;gt;&amp;amp;');
  });
});

describe('the status page shows', () => {
  test.each([
    [59, '59 s'],
    [60, '1 min'],
    [7260, '2 h 1 min'],
    [86_400, '24 h'],
    [100_000, '1 d 3 h'],
  ])('%d seconds as %s', (seconds, text) => {
    expect(duration(seconds)).toBe(text);
  });

  test('how long a day had each status, the worst first', () => {
    const day = { date: '2026-03-10', operational: 80_000, major_outage: 60, noData: 6340 };
    expect(dayText(day)).toBe('major outage 1 min, operational 22 h 13 min, no data 1 h 45 min');
    expect(barClasses(day)).toBe('major_outage q1 n1');
    expect([dayText({ date: '2026-03-10' }), barClasses({ date: '2026-03-10', operational: 5 })]).toEqual([
      'no data',
      'operational',
    ]);
  });

  const status = (queueAt: string, queue: 'operational' | 'degraded_performance' | 'major_outage') => ({
    status: queue,
    lastCheckedAt: '2026-03-10T12:00:00.000Z',
    components: [
      { name: 'api', status: 'operational' as const, lastCheckedAt: '2026-03-10T12:00:00.000Z' },
      { name: 'queue', status: queue, lastCheckedAt: queueAt },
    ],
  });
  const titleOf = (...args: Parameters<typeof status>) =>
    summaryOf({ status: status(...args), history: null, isSilent: false });

  test('an unknown state if the front has no recent report', () => {
    expect(titleOf('2026-03-10T11:59:58.000Z', 'operational').title).toBe('All systems operational');
    expect(titleOf('2026-03-10T11:59:58.000Z', 'major_outage')).toMatchObject({
      state: 'major_outage',
      text: 'Affected: Queue.',
    });
    expect(titleOf('2026-03-10T11:31:00.000Z', 'degraded_performance')).toEqual({
      state: 'unknown',
      title: 'The state is not fully known',
      text: 'The API answers. There has been no report on Queue since 11:31 UTC.',
    });
  });
});
