import { expect, test } from 'vitest';
import { goalsTable, noteGoal } from '../../bench/goals.ts';
import { notePeerGoals } from '../../bench/peers/peer-goals.ts';
import type { BenchTask, Contender } from '../../bench/speed/contender.ts';
import type { SaturatedResult, SequentialResult } from '../../bench/speed/measure.ts';
import { overviewTable } from '../../bench/speed/report.ts';

const contender = (name: string, parts: readonly string[]): Contender => ({
  name,
  capture: () => Promise.resolve(Buffer.alloc(0)),
  processes: () => parts.map((part) => ({ part, pid: 1 })),
});
const [fleet, peer] = [contender('webcapture', ['front']), contender('peer', [])];
const task = (format: BenchTask['format']): BenchTask => ({
  page: { name: 'tiny', path: '/tiny', isFullPage: false },
  url: '',
  format,
});
const percentiles = { p50: 100, p95: 140, p99: 150, max: 200 };
const sequential = (p50: number): SequentialResult => ({
  ...percentiles,
  p50,
  captures: 60,
  leastP50: p50,
  mostP50: p50,
  cost: undefined,
});
const saturated = (perSecond: number, mebibytes: number): SaturatedResult => ({
  ...percentiles,
  perSecond,
  leastPerSecond: perSecond,
  mostPerSecond: perSecond,
  time: undefined,
  memory: new Map([['front', mebibytes * 1024 ** 2]]),
});
const measured = <Result>(format: BenchTask['format'], ours: Result, its: Result) => ({
  task: task(format),
  results: new Map([
    [fleet, ours],
    [peer, its],
  ]),
});

test('has the figures of each contender for png and pdf, and the memory of those whose processes are known', () => {
  const field = { fleet, script: peer, floor: peer, protocol: peer, contenders: [fleet, peer] };
  const alone = [
    measured('png', sequential(80.4), sequential(90)),
    measured('jpeg', sequential(81), sequential(91)),
    measured('pdf', sequential(70), sequential(60)),
  ];
  const loaded = [
    measured('png', saturated(9.75, 100), saturated(8, 0)),
    measured('jpeg', saturated(9, 300), saturated(7, 0)),
    measured('pdf', saturated(11, 200), saturated(12, 0)),
  ];
  expect(overviewTable(field, alone, loaded, 2).split('\n')).toEqual([
    '| capture | webcapture | peer |',
    '| --- | --- | --- |',
    '| tiny, png: alone | 80 ms | 90 ms |',
    '| tiny, png: 4 clients | 9.8/s | 8.0/s |',
    '| tiny, pdf: alone | 70 ms | 60 ms |',
    '| tiny, pdf: 4 clients | 11.0/s | 12.0/s |',
    '| p95 / p50 with 4 clients, mean | 1.40 | 1.40 |',
    '| memory per slot | 150 MiB |  |',
  ]);
});

test('the goals of a run are in one table: those of the captures of a known peer, of the tail and of the memory', () => {
  expect(goalsTable()).toBeUndefined();
  const script = contender('Playwright script', []);
  const against = <Result>(format: BenchTask['format'], ours: Result, its: Result) => ({
    task: task(format),
    results: new Map([
      [fleet, ours],
      [script, its],
      [peer, its],
    ]),
  });
  const alone = [against('png', sequential(80), sequential(100)), against('pdf', sequential(90), sequential(100))];
  const loaded = [
    against('png', saturated(11, 100), saturated(10, 0)),
    against('png', saturated(9, 100), saturated(10, 0)),
    against('pdf', saturated(9, 1000), saturated(10, 0)),
  ];
  notePeerGoals(fleet, alone, loaded, 2);
  expect(noteGoal('start', 4, 3, ' s')).toBe(false);
  expect(goalsTable()?.split('\n')).toEqual([
    '| goal of | measured | goal |  |',
    '| --- | --- | --- | --- |',
    '| pdf alone, of the time of Playwright script | 0.90 | at most 0.95 | met |',
    '| pdf with 4 clients, of the captures of Playwright script | 0.90 | at least 0.95 | missed |',
    '| png with 4 clients, of the captures of Playwright script | 0.99 | at least 1.1 | missed |',
    '| png with 4 clients, of the captures of Playwright script, least | 0.90 | at least 0.95 | missed |',
    '| p95 / p50 with 4 clients, mean | 1.40 | at most 1.35 | missed |',
    '| memory per slot | 500 MiB | at most 450 MiB | missed |',
    '| start | 4.00 s | at most 3 s | missed |',
  ]);
});
