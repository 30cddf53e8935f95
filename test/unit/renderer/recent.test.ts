import { expect, test } from 'vitest';
import { RecentCaptures } from '../../../services/renderer/worker/heartbeat.ts';

test('RecentCaptures counts the last five minutes, and only failures that the service caused', () => {
  let now = 0;
  const recent = new RecentCaptures(() => now);
  recent.add({ failure: { cause: 'service' }, queueWaitMs: 90_000, renderMs: 200 });
  now = 100_000;
  recent.add({ failure: null, queueWaitMs: 10, renderMs: 200 });
  recent.add({ failure: { cause: 'page' }, queueWaitMs: 20, renderMs: 200 });
  recent.add({ failure: { cause: 'client' }, queueWaitMs: 25, renderMs: 200 });
  recent.add({ failure: { cause: 'service' }, queueWaitMs: 30, renderMs: 200 });
  expect(recent.summary()).toEqual({
    ended: 5,
    internalFailures: 2,
    interactive: 5,
    queueWaitP95Ms: 90_000,
    meanRenderMs: 200,
  });
  now = 300_001;
  expect(recent.summary()).toEqual({
    ended: 4,
    internalFailures: 1,
    interactive: 4,
    queueWaitP95Ms: 30,
    meanRenderMs: 200,
  });
  recent.add({ failure: null, queueWaitMs: null, renderMs: 200 });
  expect(recent.summary()).toMatchObject({ ended: 5, interactive: 4, queueWaitP95Ms: 30 });
  now = 700_000;
  expect(recent.summary()).toEqual({ ended: 0, internalFailures: 0, interactive: 0, queueWaitP95Ms: 0 });
});
