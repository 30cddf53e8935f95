import { describe, expect, test } from 'vitest';
import { nextRefreshAfter, runsAfter } from '@webcapture/shared/captures/refresh-times.ts';

const hour = 3_600_000;
const isoRuns = (cron: string, timeZone: string, after: string, count: number) =>
  runsAfter({ cron, timeZone }, Date.parse(after), count).map((run) =>
    new Date(run).toISOString().replace(':00.000Z', 'Z'),
  );

describe('a schedule runs', () => {
  test.each([
    ['0 6 * * 1-5', '2026-03-05T12:00Z', ['2026-03-06T05:00Z', '2026-03-09T05:00Z']],
    ['0 6 * * MON-FRI', '2026-07-02T12:00Z', ['2026-07-03T04:00Z', '2026-07-06T04:00Z']],
    ['*/30 8-9 * * *', '2026-07-02T06:15Z', ['2026-07-02T06:30Z', '2026-07-02T07:00Z']],
    ['0 0 13 * 5', '2026-03-09T12:00Z', ['2026-03-12T23:00Z', '2026-03-19T23:00Z']],
    ['0 0 29 2 *', '2026-03-09T12:00Z', ['2028-02-28T23:00Z', '2032-02-28T23:00Z']],
  ])('by the clock of its time zone: %s after %s', (cron, after, runs) => {
    expect(isoRuns(cron, 'Europe/Berlin', after, 2)).toEqual(runs);
  });

  test('after its time, not at it', () => {
    expect(isoRuns('0 6 * * *', 'UTC', '2026-03-05T06:00Z', 1)).toEqual(['2026-03-06T06:00Z']);
  });

  test('after the hour that daylight saving time skips', () => {
    const runs = ['2026-03-28T01:30Z', '2026-03-29T01:00Z', '2026-03-30T00:30Z'];
    expect(isoRuns('30 2 * * *', 'Europe/Berlin', '2026-03-27T12:00Z', 3)).toEqual(runs);
  });

  test('once in the hour that daylight saving time repeats', () => {
    const runs = ['2026-10-24T00:30Z', '2026-10-25T00:30Z', '2026-10-26T01:30Z'];
    expect(isoRuns('30 2 * * *', 'Europe/Berlin', '2026-10-23T12:00Z', 3)).toEqual(runs);
  });

  test('every hour if it is hourly, also when daylight saving time ends', () => {
    const runs = ['2026-10-25T00:00Z', '2026-10-25T01:00Z', '2026-10-25T02:00Z'];
    expect(isoRuns('0 * * * *', 'Europe/Berlin', '2026-10-24T23:30Z', 3)).toEqual(runs);
  });

  test('never if its date does not exist', () => {
    expect(isoRuns('0 0 31 2 *', 'UTC', '2026-03-05T06:00Z', 1)).toEqual([]);
  });
});

describe('the next refresh', () => {
  const now = Date.parse('2026-07-02T12:00Z');

  test('of an interval keeps its rhythm', () => {
    const record = { persistence: { refreshIntervalMs: hour } };
    expect(nextRefreshAfter(record, { since: now - 2.5 * hour, now })).toBe(now + 0.5 * hour);
    expect(nextRefreshAfter(record, { since: now, now })).toBe(now + hour);
  });

  test('of a schedule is its next run', () => {
    const schedule = { cron: '0 6 * * *', timeZone: 'Europe/Berlin' };
    const record = { persistence: { refreshIntervalMs: 0, schedule } };
    expect(nextRefreshAfter(record, { since: now - 90 * hour, now })).toBe(Date.parse('2026-07-03T04:00Z'));
  });

  test('does not exist without an interval and a schedule', () => {
    expect(nextRefreshAfter({}, { since: now, now })).toBeUndefined();
    expect(nextRefreshAfter({ persistence: { refreshIntervalMs: 0 } }, { since: now, now })).toBeUndefined();
  });
});
