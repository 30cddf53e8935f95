import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { acting, batchesOf, declarations, filesOf, testsLeftOut, unitTestsByFile } from '../../mutation/groups.ts';
import { pageFolder, pageTests, testsOf } from '../../mutation/page-tests.ts';

test('the unit group contains the files that unit tests import, without the excluded ones', () => {
  const files = filesOf('unit');
  expect(files).toContain('services/shared/captures/transitions.ts');
  expect(files).toContain('services/client/event-stream.ts');
  expect(files.filter((file) => file.startsWith(pageFolder))).toEqual([]);
  expect(files.filter((file) => acting.includes(file) || declarations.includes(file))).toEqual([]);
});

test('every excluded file is imported by a unit test', () => {
  const imported = unitTestsByFile();
  expect([...acting, ...declarations].filter((file) => !imported.has(file))).toEqual([]);
  expect(testsLeftOut.filter((file) => !existsSync(file))).toEqual([]);
});

test('type imports do not count as imports', () => {
  const tests = unitTestsByFile().get('services/controller/health/facts.ts') ?? [];
  expect(tests.length).toBeGreaterThan(0);
  for (const file of tests) expect(readFileSync(file, 'utf8')).toMatch(/^import (?!type )[^;]*health\/facts\.ts'/m);
  expect(unitTestsByFile().has('services/cli/batch/journal.ts')).toBe(false);
});

test('the files in the map of page tests exist', () => {
  const files = filesOf('page');
  expect(Object.keys(pageTests).filter((file) => !files.includes(`${pageFolder}/${file}`))).toEqual([]);
  expect(files.flatMap(testsOf).filter((file) => !existsSync(file))).toEqual([]);
});

test('page files with the same tests are mutated in one batch, each file once', () => {
  const files = filesOf('page');
  const batches = batchesOf('page', files);
  expect(batches.flatMap((batch) => batch.files).toSorted()).toEqual(files);
  const tests = batches.map((batch) => batch.tests?.join());
  expect(new Set(tests).size).toBe(tests.length);
  expect(batchesOf('unit', ['a.ts', 'b.ts'])).toEqual([{ files: ['a.ts', 'b.ts'] }]);
});
