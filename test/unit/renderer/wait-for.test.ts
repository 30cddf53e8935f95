import { DeadlineError } from '@webcapture/shared/runtime/deadline.ts';
import { expect, test } from 'vitest';
import { DocumentGoneError } from '../../../services/renderer/browser/isolated-world.ts';
import { inAnyDocument, missedInSilence } from '../../../services/renderer/page/wait-for.ts';

/** Returns a function whose first `times` calls reject with `error`. Each later call resolves with the number of calls so far. */
const failing = (error: Error, times: number) => {
  let calls = 0;
  return () => {
    calls += 1;
    return calls > times ? Promise.resolve(calls) : Promise.reject(error);
  };
};

test('inAnyDocument calls again in the next document until its end', async () => {
  const gone = new DocumentGoneError('gone');
  expect(await inAnyDocument(performance.now() + 60_000, failing(gone, 2))).toBe(3);
  expect(await inAnyDocument(performance.now() - 1, failing(gone, 2))).toBeNull();
  await expect(inAnyDocument(performance.now() + 60_000, failing(new Error('other'), 2))).rejects.toThrow('other');
});

test('inAnyDocument passes the remaining time on', async () => {
  const left = await inAnyDocument(performance.now() + 60_000, (ms) => Promise.resolve(ms));
  expect(left).toBeGreaterThan(0);
  expect(left).toBeLessThanOrEqual(60_000);
  expect(await inAnyDocument(performance.now() - 60_000, (ms) => Promise.resolve(ms))).toBe(0);
});

test('missedInSilence rethrows other errors than a time-out', () => {
  expect(missedInSilence(new DeadlineError('looking', 1000))).toBe('missed');
  expect(() => missedInSilence(new Error('other'))).toThrow('other');
});
