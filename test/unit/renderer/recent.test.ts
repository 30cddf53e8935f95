import { expect, test } from 'vitest';
import { RecentCaptures } from '../../../services/renderer/worker/heartbeat.ts';

test('counts five minutes, and only failures of our own', () => {
  let now = 0;
  const recent = new RecentCaptures(() => now);
  recent.add({ failure: 'INTERNAL_ERROR', queueWaitMs: 90_000, renderMs: 200 });
  now = 100_000;
  recent.add({ failure: null, queueWaitMs: 10, renderMs: 200 });
  recent.add({ failure: 'NAVIGATION_FAILED', queueWaitMs: 20, renderMs: 200 });
  recent.add({ failure: 'CAPTURE_FAILED', queueWaitMs: 30, renderMs: 200 });
  expect(recent.summary()).toEqual({ ended: 4, failedByUs: 2, queueWaitP95Ms: 90_000, meanRenderMs: 200 });
  now = 300_001;
  expect(recent.summary()).toEqual({ ended: 3, failedByUs: 1, queueWaitP95Ms: 30, meanRenderMs: 200 });
  recent.add({ failure: null, queueWaitMs: null, renderMs: 200 });
  expect(recent.summary()).toMatchObject({ ended: 4, queueWaitP95Ms: 30 });
  now = 700_000;
  expect(recent.summary()).toEqual({ ended: 0, failedByUs: 0, queueWaitP95Ms: 0 });
});

test('counts no failure for which the page alone has to answer', () => {
  const recent = new RecentCaptures();
  recent.add({ failure: 'CAPTURE_FAILED', reachedLimit: true, queueWaitMs: 10, renderMs: 200 });
  expect(recent.summary()).toMatchObject({ ended: 1, failedByUs: 0 });
});
