import { afterEach, expect, test, vi } from 'vitest';
import { ThrottledLogger } from '@webcapture/shared/runtime/throttled-logger.ts';

afterEach(() => vi.useRealTimers());

test('logs each message once per interval, with the number of omitted ones', () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const lines: unknown[] = [];
  const rarely = new ThrottledLogger({ warn: (...line: unknown[]) => void lines.push(line) }, 1000);
  rarely.warn({ pod: 'a' }, 'malformed');
  rarely.warn({ pod: 'b' }, 'malformed');
  rarely.warn({ pod: 'c' }, 'forged');
  vi.advanceTimersByTime(999);
  rarely.warn({ pod: 'd' }, 'malformed');
  vi.advanceTimersByTime(1);
  rarely.warn({ pod: 'e' }, 'malformed');
  expect(lines).toEqual([
    [{ pod: 'a' }, 'malformed'],
    [{ pod: 'c' }, 'forged'],
    [{ pod: 'e', omitted: 2 }, 'malformed'],
  ]);
});
