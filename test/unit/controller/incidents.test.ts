import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { addTime, type ComponentHistory, observedTo } from '@webcapture/shared/statistics/component-history.ts';
import { statusValues, type StatusValue } from '@webcapture/shared/api/status.ts';
import {
  addSpans,
  maxIncidents,
  maxIncidentsPerDay,
  retire,
  type Span,
} from '../../../services/controller/health/incidents.ts';

const dayMs = 86_400_000;
const minute = 60_000;
const noon = Date.parse('2026-03-10T12:00:00Z');
const [up, slow, partly, down] = statusValues;

const span = (status: StatusValue, from: number, to: number, message: string = status): Span => ({
  status,
  message,
  from: noon + from,
  to: noon + to,
});
/** Consecutive states, each up to the given minute. */
const spans = (...states: readonly (readonly [StatusValue, number])[]): Span[] =>
  states.map(([status, until], index) => span(status, (states[index - 1]?.[1] ?? 0) * minute, until * minute));

function recorded(all: readonly Span[], before: ComponentHistory | null = null): ComponentHistory {
  const history = addSpans(before, 'queue', all);
  if (history === null) throw new Error('there is no history');
  return history;
}
const seconds = ({ days }: ComponentHistory) => days.map(({ date, ms }) => [date, ...ms.map((each) => each / 1000)]);
/** Returns the start and end of incidents in minutes after noon, newest first. */
const times = ({ incidents }: ComponentHistory) =>
  incidents.map(({ startedAt, endedAt }) => [
    (startedAt - noon) / minute,
    endedAt === null ? null : (endedAt - noon) / minute,
  ]);

describe('the days of a history', () => {
  test('are days in UTC, independent of the time zone of the process', () => {
    const late = { from: Date.parse('2026-03-28T23:59:00Z'), to: Date.parse('2026-03-30T00:01:00Z') };
    // Daylight saving time begins in Europe between the two days.
    expect(addTime([], slow, late)).toEqual([
      { date: '2026-03-28', ms: [0, minute, 0, 0] },
      { date: '2026-03-29', ms: [0, dayMs, 0, 0] },
      { date: '2026-03-30', ms: [0, minute, 0, 0] },
    ]);
  });

  test('sum the time of each state; a short gap counts as the state before it, a long gap does not count', () => {
    const all = [span(up, 0, 10 * minute), span(down, 10.5 * minute, 20 * minute), span(up, 60 * minute, 61 * minute)];
    expect(seconds(recorded(all))).toEqual([['2026-03-10', 690, 0, 0, 570]]);
  });

  test('are kept for 90 days, like the incidents', () => {
    const first = recorded(spans([up, 1], [down, 2], [up, 3]));
    const day = (days: number) => span(up, days * dayMs, days * dayMs + minute);
    const kept = recorded([day(89)], first);
    expect([kept.days.length, kept.incidents.length]).toEqual([2, 1]);
    const dropped = recorded([day(90)], kept);
    expect([dropped.days.map(({ date }) => date), dropped.incidents]).toEqual([['2026-06-07', '2026-06-08'], []]);
  });
});

describe('an incident', () => {
  test('has a start, an end, the worst status, and the message of that status', () => {
    const all = [
      span(up, 0, minute),
      span(slow, minute, 2 * minute, 'slow: 1.2 s'),
      span(down, 2 * minute, 5 * minute, 'there is no connection to NATS'),
      span(partly, 5 * minute, 6 * minute, 'some'),
    ];
    const open = recorded(all);
    expect(open.incidents).toEqual([
      {
        startedAt: noon + minute,
        endedAt: null,
        status: down,
        message: 'there is no connection to NATS',
        updates: [
          { at: noon + minute, status: slow, message: 'slow: 1.2 s' },
          { at: noon + 2 * minute, status: down, message: 'there is no connection to NATS' },
          { at: noon + 5 * minute, status: partly, message: 'some' },
        ],
        interruptions: 0,
      },
    ]);
    expect(times(recorded([span(up, 6 * minute, 7 * minute)], open))).toEqual([[1, 6]]);
  });

  test('continues over a gap in the data, and ends when the component is operational', () => {
    const open = recorded(spans([up, 1], [down, 2]));
    const still = recorded([span(down, 60 * minute, 61 * minute)], open);
    expect(times(still)).toEqual([[1, null]]);
    expect(times(recorded([span(up, 300 * minute, 301 * minute)], still))).toEqual([[1, 300]]);
  });

  test('includes those that follow it within a few minutes', () => {
    const history = recorded(spans([up, 1], [down, 2], [up, 3], [slow, 4], [up, 10], [down, 11], [up, 12]));
    expect(times(history)).toEqual([
      [10, 11],
      [1, 4],
    ]);
    expect(history.incidents.map(({ interruptions }) => interruptions)).toEqual([0, 1]);
  });

  test('does not begin with the first reading of all, unless the state lasts', () => {
    expect(addSpans(null, 'queue', spans([down, 1]))).toBeNull();
    const started = recorded(spans([down, 1], [up, 2]));
    expect([started.incidents, seconds(started)]).toEqual([[], [['2026-03-10', 60, 0, 0, 0]]]);
    expect(times(recorded(spans([down, 1], [partly, 3])))).toEqual([[0, null]]);
  });

  test('does not begin with the first reading after a gap, unless the state lasts', () => {
    const before = recorded(spans([up, 1]));
    const early = [span(down, 10 * minute, 11 * minute)];
    expect(addSpans(before, 'queue', early)).toBe(before);
    const history = recorded([...early, span(up, 11 * minute, 12 * minute)], before);
    expect([history.incidents, seconds(history)]).toEqual([[], [['2026-03-10', 120, 0, 0, 0]]]);
    // The gap may be within the spans of one controller.
    expect(recorded([...spans([up, 1]), ...early, span(up, 11 * minute, 12 * minute)]).incidents).toEqual([]);
  });
});

describe('adding the same spans again', () => {
  test('changes nothing', () => {
    const all = spans([up, 1], [down, 2], [up, 3]);
    const once = recorded(all);
    expect(addSpans(once, 'queue', all)).toBe(once);
  });

  test('adds what is missing, in any number of writes', () => {
    const state = fc.constantFrom(...statusValues);
    const step = fc.record({ status: state, seconds: fc.integer({ min: 1, max: 4000 }) });
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 60 }), fc.integer({ min: 1, max: 59 }), (steps, writes) => {
        let at = noon;
        const all = [{ status: up, seconds: 1 }, ...steps].map(({ status, seconds: length }) => ({
          status,
          message: status,
          from: at,
          to: (at += length * 1000),
        }));
        let history: ComponentHistory | null = null;
        for (let end = 1; end < all.length; end += writes) history = addSpans(history, 'queue', all.slice(0, end));
        expect(addSpans(history, 'queue', all)).toEqual(addSpans(null, 'queue', all));
      }),
      { numRuns: 200 },
    );
  });
});

describe('a component that flaps', () => {
  const flapping = (minutes: number, everyMinutes: number) =>
    spans(
      ...Array.from({ length: minutes / everyMinutes }, (_, index) => {
        const states = [up, down, slow, partly] as const;
        return [states[index % 4] ?? up, (index + 1) * everyMinutes] as const;
      }),
    );

  test('has a few incidents per day, of which the last counts the interruptions', () => {
    const { incidents } = recorded(flapping(11 * 60, 2));
    expect(incidents.length).toBe(maxIncidentsPerDay);
    expect(incidents[0]?.interruptions).toBeGreaterThan(70);
    expect(incidents.slice(1).map(({ interruptions }) => interruptions)).toEqual([0, 0, 0, 0]);
  });

  test('takes a bounded amount of space for months of long messages', () => {
    const message = '"\\\u202e\n'.repeat(1000);
    const weeks = flapping(14 * 24 * 60, 60).map((each) => ({ ...each, message }));
    const history = recorded([...weeks, span(up, 14 * dayMs, 89 * dayMs)]);
    expect(history.incidents.length).toBe(maxIncidents);
    expect(history.days.length).toBe(90);
    expect(Buffer.byteLength(JSON.stringify(history))).toBeLessThan(200_000);
  });
});

test('the message of an incident is one short line without control and bidi characters', () => {
  const said = (message: string) => recorded([span(up, 0, 1), span(down, 1, 2, message)]).incidents[0]?.message;
  expect(said('a\u202eb\u0000c\r\nd\u2028e \ud800')).toBe('a b c d e \ufffd');
  expect(said('<script>alert(1)</script>')).toBe('<script>alert(1)</script>');
  const long = said('€'.repeat(500)) ?? '';
  expect([Buffer.byteLength(long) <= 200, /^€{60,}…$/.test(long)]).toEqual([true, true]);
});

describe('a clock that jumps', () => {
  test('forward leaves days without data', () => {
    const history = recorded([...spans([up, 1]), span(up, 30 * dayMs, 30 * dayMs + minute)]);
    expect(seconds(history)).toEqual([
      ['2026-03-10', 60, 0, 0, 0],
      ['2026-04-09', 60, 0, 0, 0],
    ]);
  });

  test('back by a minute adds nothing until time catches up', () => {
    const before = recorded(spans([up, 5]));
    expect(addSpans(before, 'queue', spans([up, 4]))).toBe(before);
  });

  test('back by a day removes the days and incidents in the future', () => {
    const ahead = recorded([
      span(up, dayMs, dayMs + minute),
      span(down, dayMs + minute, dayMs + 2 * minute),
      span(up, dayMs + 2 * minute, dayMs + 10 * minute),
      span(down, dayMs + 10 * minute, dayMs + 11 * minute),
    ]);
    const turned = recorded(spans([down, 1]), ahead);
    expect([turned.days, times(turned)]).toEqual([[], [[1, null]]]);
    const on = recorded(spans([down, 1], [down, 2], [up, 3]), turned);
    expect([seconds(on), times(on)]).toEqual([[['2026-03-10', 60, 0, 0, 60]], [[1, 2]]]);
  });
});

test('the time since the last write of a leader counts as the status that it published', () => {
  const history = recorded(spans([slow, 3]));
  expect(seconds(observedTo(history, noon + 7 * minute))).toEqual([['2026-03-10', 0, 420, 0, 0]]);
  expect(observedTo(history, noon)).toBe(history);
  // The status was observed long after the last write, or by a wrong clock.
  expect(observedTo(history, noon + 60 * minute)).toBe(history);
});

test('removing a region ends its open incident and keeps its history for 90 days', () => {
  const history = recorded(spans([up, 1], [down, 5]));
  const retired = retire(history, noon + dayMs);
  expect(retired && times(retired)).toEqual([[1, 5]]);
  expect(retired && retire(retired, noon + 89 * dayMs)).toBe(retired);
  expect(retired && retire(retired, noon + 91 * dayMs)).toBeNull();
});

test('removing a region keeps the days of the last 90 days, also without incidents', () => {
  const history = recorded([span(up, 0, minute), span(up, 10 * dayMs, 10 * dayMs + minute)]);
  expect(history.incidents).toEqual([]);
  expect(retire(history, noon + 95 * dayMs)?.days.map(({ date }) => date)).toEqual(['2026-03-20']);
});
