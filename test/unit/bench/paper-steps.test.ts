import { expect, test } from 'vitest';
import { engineSteps, serviceSteps } from '../../bench/paper/steps.ts';

const timings = { queueMs: 0, openMs: 10, navigateMs: 40, settleMs: 100, shootMs: 300, storeMs: 0 };

test('splits the steps of the engine by its waits, and attributes the rest', () => {
  const waits = new Map([
    ['tables and fixed elements', 5],
    ['the print layout', 2],
    ['loading', 3],
    ['scrolling', 60],
    ['what is on paper', 4],
    ['printing', 280],
    ['reading the title', 50],
  ]);
  expect(engineSteps({ timings }, waits)).toEqual({
    open: 10,
    navigate: 40,
    layOut: 7,
    wake: 63,
    settle: 30,
    place: 4,
    print: 280,
    read: 16,
  });
});

test('separates the time to store a file from the rest of the service', () => {
  const inEngine = { open: 10, navigate: 40, settle: 100, shoot: 300 };
  const times = { request: 1, queue: 2, store: 8, result: 3, answer: 4, response: 5, ...inEngine };
  expect(serviceSteps({ times })).toEqual({ store: 8, rest: 15 });
});
