import { expect, test } from 'vitest';
import { listMutants, mutantKey, sampleMutants } from '../../mutation/mutants.ts';

const file = 'services/shared/captures/uuid.ts';

test('a sample depends on its seed, but not on the position of the code in the file', async () => {
  const mutants = await listMutants([file]);
  const keys = sampleMutants(mutants, 10, 1).map(mutantKey);
  expect(new Set(keys).size).toBe(10);
  expect(sampleMutants(mutants, 10, 1).map(mutantKey)).toEqual(keys);
  expect(sampleMutants(mutants, 10, 2).map(mutantKey)).not.toEqual(keys);
  const down = ({ line, column }: { line: number; column: number }) => ({ line: line + 5, column });
  const moved = mutants.map((mutant) => {
    const { start, end } = mutant.location;
    return { ...mutant, location: { start: down(start), end: down(end) }, id: mutantKey(mutant) };
  });
  expect(sampleMutants(moved, 10, 1).map(({ id }) => id)).toEqual(keys);
});

test('a sample contains at most all mutants', async () => {
  const mutants = await listMutants([file]);
  expect(mutants.length).toBeGreaterThan(20);
  expect(new Set(mutants.map(mutantKey)).size).toBe(mutants.length);
  expect(sampleMutants(mutants, 100_000, 1)).toHaveLength(mutants.length);
});
