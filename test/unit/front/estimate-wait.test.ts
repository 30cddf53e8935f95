import { expect, test } from 'vitest';
import { estimateWaitSeconds } from '../../../services/front/capture/regions.ts';

type Load = Parameters<typeof estimateWaitSeconds>[0];

const free: Load = { slots: 4, busy: 0, queued: 0, inFlight: 0, renderMs: 2000 };

test.each<[string, Partial<Load>, number | null]>([
  ['a free region', {}, 0],
  ['one free slot', { busy: 3 }, 0],
  ['no free slot, as reported by renderers', { busy: 4 }, 1],
  ['no free slot, by the captures of this front', { inFlight: 4 }, 1],
  ['more in flight than slots', { inFlight: 40 }, 1],
  ['a queue as long as the number of slots', { busy: 4, queued: 4 }, 3],
  ['a queue although a slot is free: it is about to be taken', { busy: 3, queued: 1 }, 1],
  ['a long queue', { busy: 4, queued: 9999 }, 5000],
  ['a queue with an unknown render time', { busy: 4, queued: 3, renderMs: null }, 3],
  ['one slot', { slots: 1, busy: 1, queued: 2 }, 6],
  ['fast captures, rounded up', { busy: 4, renderMs: 1 }, 1],
  ['no renderer', { slots: 0 }, null],
  ['no renderer and a queue', { slots: 0, queued: 10 }, null],
])('estimates the wait for %s', (_name, changes, seconds) => {
  expect(estimateWaitSeconds({ ...free, ...changes })).toBe(seconds);
});
