import { expect, test } from 'vitest';
import { onStopSignal } from '@webcapture/shared/runtime/shutdown.ts';

test('repeated signals of one keystroke stop once, and the next keystroke stops at once', () => {
  const calls: string[] = [];
  let now = 5;
  const onSignal = onStopSignal<string>(
    (why) => calls.push(`stop (${why})`),
    () => calls.push('at once'),
    () => now,
  );
  onSignal('SIGINT');
  // npm forwards the signal.
  onSignal('SIGINT');
  now = 405;
  onSignal('SIGTERM');
  expect(calls).toEqual(['stop (SIGINT)']);
  now = 406;
  onSignal('SIGINT');
  expect(calls).toEqual(['stop (SIGINT)', 'at once']);
});
