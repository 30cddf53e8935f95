import { expect, test } from 'vitest';
import { Overload } from '../../../services/front/http/load-shedding.ts';

test.each<[string, number[], boolean]>([
  ['no sample', [], false],
  ['one pause', [60_000], false],
  ['four late samples', [1001, 1500, Infinity, 9000], false],
  ['five late samples', [1001, 1001, 1001, 1001, 1001], true],
  ['a good sample between late ones', [1001, 1001, 1001, 1000, 1001, 1001, 1001], false],
  ['a good sample after late ones', [5000, 5000, 5000, 5000, 5000, 5000, 10], false],
])('overload is detected or not after %s', (_name, samples, present) => {
  const overload = new Overload();
  for (const sample of samples) overload.sample(sample);
  expect(overload.present).toBe(present);
});

test('overload is lasting after twice the number of late samples', () => {
  const overload = new Overload();
  for (let samples = 0; samples < 9; samples++) overload.sample(2000);
  expect([overload.present, overload.lasting]).toEqual([true, false]);
  overload.sample(2000);
  expect(overload.lasting).toBe(true);
  overload.sample(10);
  expect([overload.present, overload.lasting]).toEqual([false, false]);
});
