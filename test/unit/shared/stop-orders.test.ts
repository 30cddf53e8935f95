import { expect, test } from 'vitest';
import { stopOrders } from '@webcapture/shared/runtime/stop-orders.ts';

test('one keystroke that arrives several times stops once, the next one stops at once', () => {
  const calls: string[] = [];
  let now = 5;
  const told = stopOrders<string>(
    (why) => calls.push(`stop (${why})`),
    () => calls.push('at once'),
    () => now,
  );
  told('SIGINT');
  // Handed on by npm.
  told('SIGINT');
  now = 405;
  told('SIGTERM');
  expect(calls).toEqual(['stop (SIGINT)']);
  now = 406;
  told('SIGINT');
  expect(calls).toEqual(['stop (SIGINT)', 'at once']);
});
