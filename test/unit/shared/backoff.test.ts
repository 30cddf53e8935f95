import { expect, test } from 'vitest';
import { backoffMs } from '@webcapture/shared/runtime/deadline.ts';

test('the backoff doubles up to its maximum, and a quarter of it is random', () => {
  const waits = (random: number) => [1, 2, 3, 9].map((attempt) => backoffMs(attempt, 100, 1000, () => random));
  expect(waits(0)).toEqual([75, 150, 300, 750]);
  expect(waits(1)).toEqual([100, 200, 400, 1000]);
});
