import { expect, test } from 'vitest';
import { Pace } from '../../../services/cli/batch/pace.ts';

test('captures at a time grow by one, halve on refusals, and wait for the time that is named', () => {
  let now = 1000;
  const pace = new Pace(6, () => now);
  const succeed = (count: number) => Array.from({ length: count }, () => pace.onSuccess());
  expect(pace.limit).toBe(4);
  succeed(4);
  expect(pace.limit).toBe(5);
  succeed(5 + 6 + 6);
  expect(pace.limit).toBe(6);

  pace.onRefusal(900, 12_000);
  expect([pace.limit, pace.pauseMs]).toEqual([3, 12_000]);
  // Those that were under way beside it are refused, too.
  now = 1010;
  pace.onRefusal(950, 12_000);
  expect([pace.limit, pace.pauseMs]).toEqual([3, 12_000]);
  now = 20_000;
  expect(pace.pauseMs).toBe(0);
  pace.onRefusal(19_000, null);
  pace.onRefusal(20_000, null);
  expect([pace.limit, pace.pauseMs]).toEqual([1, 1000]);
});
