import { describe, expect, test } from 'vitest';
import { capturesWithin, meanOf, spreadOf, turnsOf } from '../../bench/speed/turns.ts';

describe('the turns of contenders', () => {
  const contenders = ['service', 'script', 'floor'];

  test('each contender gets the same number of captures in each round', () => {
    const turns = turnsOf(contenders, { perTurn: 12, rounds: 5 });
    expect(turns).toHaveLength(15);
    for (const contender of contenders) {
      const own = turns.filter((turn) => turn.contender === contender);
      expect(own.reduce((sum, { captures }) => sum + captures, 0)).toBe(60);
    }
    for (let round = 0; round < 5; round += 1) {
      const names = turns.slice(3 * round, 3 * round + 3).map(({ contender }) => contender);
      expect(names.toSorted()).toEqual(contenders.toSorted());
    }
  });

  test('a contender does not always follow the same other contender', () => {
    const names = turnsOf(contenders, { perTurn: 12, rounds: 6 }).map(({ contender }) => contender);
    for (const contender of contenders) {
      const before = names.flatMap((name, index) => (name === contender && index > 0 ? [names[index - 1]] : []));
      for (const other of contenders.filter((name) => name !== contender)) expect(before).toContain(other);
    }
  });
});

test('every second round has the reverse order', () => {
  const names = turnsOf(['a', 'b', 'c'], { perTurn: 1, rounds: 3 }).map(({ contender }) => contender);
  expect(names.join('')).toBe('abcacbcab');
});

describe('spreadOf', () => {
  test('returns the medians of the fastest and the slowest block', () => {
    const times = [...Array<number>(12).fill(100), ...Array<number>(12).fill(140), ...Array<number>(12).fill(120)];
    expect(spreadOf(times, 12)).toMatchObject({ captures: 36, p50: 120, leastP50: 100, mostP50: 140, p99: 140 });
  });

  test('includes a last block that is not full', () => {
    expect(spreadOf([1, 1, 9], 2)).toMatchObject({ captures: 3, leastP50: 1, mostP50: 9 });
  });
});

describe('capturesWithin', () => {
  const window = { start: 1000, end: 2000 };

  test.each([
    ['inside the window', { start: 1200, end: 1500 }, 1],
    ['half before the window', { start: 900, end: 1100 }, 0.5],
    ['with a quarter inside the window', { start: 1900, end: 2300 }, 0.25],
    ['longer than the window', { start: 0, end: 4000 }, 0.25],
    ['before the window', { start: 100, end: 900 }, 0],
    ['after the window', { start: 2100, end: 2200 }, 0],
  ])('a capture that is %s counts by the share of its time inside the window', (_name, capture, counted) => {
    expect(capturesWithin([capture], window)).toBe(counted);
  });

  test('captures of two clients that never pause add up to their throughput within the window', () => {
    const captures = [0, 130].flatMap((from) =>
      Array.from({ length: 20 }, (_, index) => ({ start: from + 250 * index, end: from + 250 * (index + 1) })),
    );
    expect(capturesWithin(captures, window)).toBeCloseTo(8, 10);
  });
});

test('meanOf returns the geometric mean of ratios', () => {
  expect(meanOf([0.5, 2])).toBeCloseTo(1, 10);
  expect(meanOf([0.8])).toBeCloseTo(0.8, 10);
});
