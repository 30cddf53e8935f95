import { expect, test } from 'vitest';
import { AdaptiveConcurrency } from '../../../services/cli/batch/adaptive-concurrency.ts';

test('concurrency grows by one per full round, halves on a refusal, and pauses for the time in Retry-After', () => {
  let now = 1000;
  const concurrency = new AdaptiveConcurrency(6, () => now);
  const succeed = (count: number) => Array.from({ length: count }, () => concurrency.onSuccess());
  expect(concurrency.limit).toBe(4);
  succeed(4);
  expect(concurrency.limit).toBe(5);
  succeed(5 + 6 + 6);
  expect(concurrency.limit).toBe(6);

  concurrency.onRefusal(900, 12_000);
  expect([concurrency.limit, concurrency.pauseMs]).toEqual([3, 12_000]);
  // Captures that were sent before the refusal are refused, too.
  now = 1010;
  concurrency.onRefusal(950, 12_000);
  expect([concurrency.limit, concurrency.pauseMs]).toEqual([3, 12_000]);
  now = 20_000;
  expect(concurrency.pauseMs).toBe(0);
  concurrency.onRefusal(19_000, null);
  concurrency.onRefusal(20_000, null);
  expect([concurrency.limit, concurrency.pauseMs]).toEqual([1, 1000]);
});
