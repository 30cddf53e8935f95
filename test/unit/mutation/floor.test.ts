import { expect, test } from 'vitest';
import { compareWithFloor, raiseFloor } from '../../mutation/floor.ts';

const full = { score: 70, mutants: 1000 };
const sampled = { score: 70, mutants: 400, sample: '--max 400 --seed 1' };

test('a run of all mutants below the floor fails', () => {
  expect(compareWithFloor(full, { score: 69.9, mutants: 1000 })).toEqual({ kind: 'below', least: 70 });
  expect(compareWithFloor(full, { score: 70, mutants: 1000 })).toEqual({ kind: 'holds', least: 70 });
  expect(compareWithFloor(full, { score: 70.9, mutants: 1000 })).toEqual({ kind: 'holds', least: 70 });
  expect(compareWithFloor(full, { score: 71, mutants: 1000 })).toEqual({ kind: 'above', least: 70 });
});

test('the floor of a sample applies exactly to the same sample', () => {
  const { sample } = sampled;
  expect(compareWithFloor(sampled, { score: 69.9, mutants: 400, sample })).toEqual({ kind: 'below', least: 70 });
  expect(compareWithFloor(sampled, { score: 70, mutants: 400, sample })).toEqual({ kind: 'holds', least: 70 });
});

test('the floor of a sample applies to all mutants with a tolerance of two standard errors', () => {
  // The standard error of 70 % of 400 mutants is 2.29.
  expect(compareWithFloor(sampled, { score: 65.5, mutants: 9000 })).toMatchObject({ kind: 'above' });
  expect(compareWithFloor(sampled, { score: 65.3, mutants: 9000 })).toMatchObject({ kind: 'below' });
});

test('a run of other mutants and a group without a floor are not compared', () => {
  const partial = { score: 1, mutants: 10, sample: 'services/shared' };
  expect(compareWithFloor(full, partial)).toEqual({ kind: 'not compared' });
  expect(compareWithFloor(sampled, partial)).toEqual({ kind: 'not compared' });
  expect(compareWithFloor(undefined, full)).toEqual({ kind: 'not compared' });
});

test('the floor rises to the whole percents of a run of all mutants and never falls', () => {
  expect(raiseFloor(full, { score: 72.9, mutants: 1100 })).toEqual({ score: 72, mutants: 1100 });
  expect(raiseFloor(full, { score: 70.9, mutants: 1100 })).toBe(undefined);
  expect(raiseFloor(full, { score: 60, mutants: 1100 })).toBe(undefined);
  expect(raiseFloor(undefined, { score: 55.5, mutants: 12 })).toEqual({ score: 55, mutants: 12 });
});

test('a run of all mutants replaces the floor of a sample, unless its score is significantly lower', () => {
  expect(raiseFloor(sampled, { score: 68.2, mutants: 9000 })).toEqual({ score: 68, mutants: 9000 });
  expect(raiseFloor(sampled, { score: 60, mutants: 9000 })).toBe(undefined);
});

test('a run of some mutants never changes the floor', () => {
  expect(raiseFloor(full, { score: 99, mutants: 10, sample: 'services/shared' })).toBe(undefined);
  expect(raiseFloor(sampled, { score: 99, mutants: 400, sample: sampled.sample })).toBe(undefined);
  expect(raiseFloor(undefined, { score: 99, mutants: 400, sample: sampled.sample })).toBe(undefined);
});
