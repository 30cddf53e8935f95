import { expect, test } from 'vitest';
import {
  intervalsOf,
  slotRowsOf,
  steps,
  summaryOf,
  type TimedCapture,
  waitingOf,
} from '../../bench/timeline/captures.ts';
import { drawTimeline } from '../../bench/timeline/draw.ts';

/** A capture that waits in the queue and then takes 10 ms for each other step. */
function newCapture(start: number, queue: number): TimedCapture {
  const times = Object.fromEntries(steps.map((step) => [step, step === 'queue' ? queue : 10])) as TimedCapture['times'];
  return { start, end: start + queue + 90, times };
}

test('the steps of a capture follow one another from its start to its end', () => {
  const capture = newCapture(1000, 50);
  const intervals = [...intervalsOf(capture).values()];
  expect(intervals.map(({ start }) => start)).toEqual([1000, ...intervals.slice(0, -1).map(({ end }) => end)]);
  expect(intervals.at(-1)?.end).toBe(capture.end);
});

test('captures that are rendered at the same time are in different slots', () => {
  const captures = [newCapture(0, 0), newCapture(5, 0), newCapture(10, 40), newCapture(10, 45)];
  const rows = slotRowsOf(captures, 2);
  expect(rows).toMatchObject([
    { name: 'slot 1', captures: [captures[0], captures[2]] },
    { name: 'slot 2', captures: [captures[1], captures[3]] },
  ]);
});

test('counts the captures in the queue', () => {
  expect(waitingOf([newCapture(0, 30), newCapture(10, 40)])).toEqual([
    { at: 10, count: 1 },
    { at: 20, count: 2 },
    { at: 40, count: 1 },
    { at: 60, count: 0 },
  ]);
});

test('compares the steps of the slowest captures with those in the middle', () => {
  const captures = Array.from({ length: 40 }, (_, index) => newCapture(0, index < 38 ? 100 : 500));
  const [queue, whole] = ['queue', 'whole'].map((name) => summaryOf(captures).find(({ step }) => step === name));
  expect(queue).toEqual({ step: 'queue', p50: 100, p95: 500, middle: 100, slowest: 500 });
  expect(whole).toEqual({ step: 'whole', p50: 190, p95: 590, middle: 190, slowest: 590 });
});

test('draws each step of each capture, and marks the slow ones', () => {
  const svg = drawTimeline(slotRowsOf([newCapture(0, 0), newCapture(0, 300)], 2), { title: 'a title', slowMs: 200 });
  expect(svg).toContain('a title');
  expect(svg.match(/<title>navigate 10 ms of/g)).toHaveLength(2);
  expect(svg.match(/<title>slower than p95</g)).toHaveLength(1);
});
