import { expect, test } from 'vitest';
import { chooseFiles, describeSelection, readOptions } from '../../mutation/options.ts';

test('a run without arguments includes all mutants of both groups', () => {
  const options = readOptions([], 7);
  expect(options).toMatchObject({ paths: [], groups: ['unit', 'page'], concurrency: 2, asFloor: false });
  expect(describeSelection(options)).toBe(undefined);
  expect(describeSelection(readOptions(['--group', 'unit', '--concurrency', '4'], 7))).toBe(undefined);
});

test('a sample without a seed gets one, and its description reproduces the sample', () => {
  const described = describeSelection(readOptions(['--max', '60', 'services/a.ts', 'services/b'], 7));
  expect(described).toBe('services/a.ts services/b --max 60 --seed 7');
  expect(readOptions((described ?? '').split(' '), 8)).toMatchObject({
    paths: ['services/a.ts', 'services/b'],
    max: 60,
    seed: 7,
  });
  expect(describeSelection(readOptions(['--since', 'main'], 7))).toBe('--since main');
});

test.each([
  [['--group', 'all'], 'there is no group all'],
  [['--max', 'ten'], '--max must be a whole number'],
  [['--seed', '-1', '--max', '1'], /seed/],
  [['--as-floor'], '--as-floor needs --group'],
  [['--maximum', '1'], /maximum/],
])('the arguments %j are refused', (args, message) => {
  expect(() => readOptions(args, 7)).toThrow(message);
});

test('paths can be files, folders and globs, and a named file is always mutated', () => {
  const all = ['test/mutation/floor.ts', 'test/mutation/groups.ts', 'test/harness/once.ts'];
  expect(chooseFiles(all, [])).toEqual(all);
  expect(chooseFiles(all, ['test/mutation'])).toEqual(all.slice(0, 2));
  expect(chooseFiles(all, ['test/mutation/'])).toEqual(all.slice(0, 2));
  expect(chooseFiles(all, ['test/*/{once,groups}.ts'])).toEqual(all.slice(1));
  expect(chooseFiles(all, ['test/mutation/results.ts'])).toEqual(['test/mutation/results.ts']);
  expect(chooseFiles(all, ['test/harness/nothing.ts'])).toEqual([]);
});
