import { expect, test } from 'vitest';
import { estimateWaitSeconds } from '../../../services/front/capture/regions.ts';

type Load = Parameters<typeof estimateWaitSeconds>[0];

const free: Load = { slots: 4, busy: 0, queued: 0, inFlight: 0, renderMs: 2000 };

test.each<[string, Partial<Load>, number | null]>([
  ['a free region', {}, 0],
  ['one free slot', { busy: 3 }, 0],
  ['no slot free, by what renderers said', { busy: 4 }, 1],
  ['no slot free, by what this front knows', { inFlight: 4 }, 1],
  ['more in flight than slots', { inFlight: 40 }, 1],
  ['as many waiting as slots', { busy: 4, queued: 4 }, 3],
  ['some waiting although a slot is free: it is about to be taken', { busy: 3, queued: 1 }, 1],
  ['a long queue', { busy: 4, queued: 9999 }, 5000],
  ['a queue of unknown speed', { busy: 4, queued: 3, renderMs: null }, 3],
  ['one slot', { slots: 1, busy: 1, queued: 2 }, 6],
  ['fast captures: rounded up', { busy: 4, renderMs: 1 }, 1],
  ['no renderer', { slots: 0 }, null],
  ['no renderer, and a queue', { slots: 0, queued: 10 }, null],
])('%s', (_name, changes, seconds) => {
  expect(estimateWaitSeconds({ ...free, ...changes })).toBe(seconds);
});
