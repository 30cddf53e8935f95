import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { testFiles, tiersOf } from '../../runner/tiers.ts';

// The text is split in two, because vitest reads the tag anywhere in a file.
const moduleTag = `@module${'-tag'} long`;

test.each([
  ["import { test } from 'vitest';\ntest('adds', () => {});", ['fast']],
  [`// ${moduleTag}\nimport { test } from 'vitest';`, ['long']],
  [`/**\n * Kills servers.\n * ${moduleTag}\n */`, ['long']],
  ["test('waits', { tags: 'long' }, async () => {});", ['fast', 'long']],
  ["const pages = [{ name: 'a page', isLong: true }];", ['fast', 'long']],
  ["testCorpus([{ name: 'a page', options: { isFullPage: true } }]);", ['fast', 'long']],
  ["test('takes as long as it must', () => {});", ['fast']],
])('tiersOf reads the tiers of a test file from its source: %j', (source, tiers) => {
  expect(tiersOf(source)).toEqual(tiers);
});

test('testFiles finds the test files of every project', async () => {
  const files = await testFiles(resolve(import.meta.dirname, '../../..'));
  expect(files.get('test/unit/runner/tiers.test.ts')).toEqual(['fast', 'long']);
  const projects = [...files.keys()].map((path) => path.split('/')[1] ?? '');
  expect([...new Set(projects)].toSorted((a, b) => a.localeCompare(b))).toEqual([
    'chaos',
    'contract',
    'corpus',
    'e2e',
    'fuzz',
    'integration',
    'kube',
    'unit',
  ]);
  // These projects need tools that take minutes to build.
  for (const [path, tiers] of files) {
    if (/^test\/(chaos|contract|fuzz|kube)\//.test(path)) expect(tiers, path).toEqual(['long']);
  }
});
