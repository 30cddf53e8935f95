import { DeadlineError, delay } from '@webcapture/shared/runtime/deadline.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { describe, expect, test } from 'vitest';
import { CaptureDeadline } from '../../../services/renderer/page/deadline.ts';

const never = new Promise<never>(() => undefined);
const open = (timeoutMs: number, signal = new AbortController().signal) => new CaptureDeadline(timeoutMs, signal);

describe('CaptureDeadline', () => {
  test('returns the result of the work, or its error', async () => {
    const deadline = open(60_000);
    expect(await deadline.run(Promise.resolve(5), 1000, 'a step')).toBe(5);
    await expect(deadline.run(Promise.reject(new Error('failed')), 1000, 'a step')).rejects.toThrow('failed');
    expect(deadline.remainingMs).toBeGreaterThan(30_000);
    expect(deadline.remainingMs).toBeLessThanOrEqual(60_000);
  });

  test('ends a step after its own timeout', async () => {
    await expect(open(60_000).run(never, 20, 'a step')).rejects.toThrow(DeadlineError);
    await expect(open(60_000).run(never, 20, 'a step')).rejects.toThrow('a step');
  });

  test('ends a step at the deadline of the capture', async () => {
    const deadline = open(1600);
    deadline.causedBy = 'page';
    const error: unknown = await deadline.run(never, 60_000, 'a step').catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: 'CAPTURE_TIMEOUT',
      message: 'The capture timed out after 2 s.',
      causedBy: 'page',
    });
    expect((error as Error).cause).toBeInstanceOf(DeadlineError);
    // A timer may fire up to a millisecond early.
    expect(deadline.remainingMs).toBeLessThanOrEqual(1);
    await expect(open(0).run(never, 60_000, 'a step')).rejects.toMatchObject({ causedBy: 'service' });
  });

  test('passes on a timeout of the work itself', async () => {
    const error = new DeadlineError('an inner step', 5);
    await expect(open(1000).run(Promise.reject(error), 60_000, 'a step')).rejects.toBe(error);
  });

  test('ends with the first error that it is aborted with', async () => {
    const deadline = open(60_000);
    const running = deadline.run(never, 60_000, 'a step');
    const error = new ServiceError('CAPTURE_FAILED', 'The page crashed.', { causedBy: 'page' });
    deadline.abort(error);
    deadline.abort(new ServiceError('CAPTURE_FAILED', 'The browser was lost.', { causedBy: 'service' }));
    await expect(running).rejects.toBe(error);
    await expect(deadline.run(never, 60_000, 'a step')).rejects.toBe(error);
  });

  test('ends when the capture is cancelled, but not after release()', async () => {
    const [cancelled, over] = [new AbortController(), new AbortController()];
    const running = open(60_000, cancelled.signal).run(never, 60_000, 'a step');
    cancelled.abort('reason');
    await expect(running).rejects.toMatchObject({
      code: 'CAPTURE_FAILED',
      message: 'The capture was cancelled.',
      causedBy: 'client',
      cause: 'reason',
    });
    const deadline = open(60_000, over.signal);
    deadline.release();
    over.abort();
    expect(await deadline.run(Promise.resolve(1), 60_000, 'a step')).toBe(1);
  });

  test('reports each wait that has its own timeout', async () => {
    const deadline = open(60_000);
    const waits: unknown[] = [];
    const durations: number[] = [];
    let begun = 0;
    deadline.onWait = (what, startedAt, timedOut) => {
      // The start of a wait is that of its own step.
      waits.push([what, startedAt >= begun, timedOut]);
      durations.push(performance.now() - startedAt);
    };
    const run = async (work: Promise<unknown>, timeoutMs: number, what: string) => {
      begun = performance.now();
      await deadline.run(work, timeoutMs, what).catch(() => undefined);
    };
    await run(delay(10), 60_000, 'one');
    await run(never, 10, 'two');
    await run(Promise.reject(new Error('failed')), 60_000, 'three');
    await run(Promise.resolve(), Number.POSITIVE_INFINITY, 'four');
    expect(waits).toEqual([
      ['one', true, false],
      ['two', true, true],
      ['three', true, false],
    ]);
    // A timer may fire up to a millisecond early.
    expect(Math.min(...durations.slice(0, 2))).toBeGreaterThanOrEqual(9);
  });
});
