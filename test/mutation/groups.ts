import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pageFolder, testsOf } from './page-tests.ts';

export type GroupName = 'unit' | 'page';

/** Files that StrykerJS mutates in one run, and the browser tests for them in the group `page`. */
export interface Batch {
  readonly files: readonly string[];
  readonly tests?: readonly string[];
}

export const groupNames = ['unit', 'page'] as const;

/**
 * Files that unit tests import but that are not mutated, because they contain schemas and sample data. Nearly every mutant of them changes
 * only a text.
 */
export const declarations = [
  'services/front/api/capture-examples.ts',
  'services/shared/api/capture-request.ts',
  'services/shared/api/capture.ts',
  'services/shared/api/envelope.ts',
  'services/shared/api/status.ts',
];

/**
 * Files of which unit tests import one function. They are not mutated, because their other functions do input and output, which integration
 * tests cover.
 */
export const acting = [
  'services/cli/batch/runner.ts',
  'services/cli/batch/sitemap.ts',
  'services/cli/capture/command.ts',
  'services/controller/jobs/webhooks/deliver.ts',
  'services/controller/jobs/webhooks/send.ts',
  'services/controller/streams.ts',
  'services/dashboard/pages/captures/capture-store.ts',
  'services/front/api/admin.ts',
  'services/front/api/send-file.ts',
  'services/front/auth/key-issuer.ts',
  'services/front/auth/preset-key.ts',
  'services/front/idempotency/lease.ts',
  'services/renderer/browser/isolated-world.ts',
  'services/shared/nats/connect.ts',
];

/** Pure functions that unit tests reach only through other files. */
const indirect = ['services/front/capture/render-options.ts'];

/**
 * Unit tests that are excluded. The first one reads a source file, which StrykerJS changes. The second one tries random inputs for seconds.
 */
export const testsLeftOut = ['test/unit/front/status-page-script.test.ts', 'test/unit/fuzz/fuzz.test.ts'];

export function filesOf(group: GroupName): string[] {
  return group === 'page' ? globSync(`${pageFolder}/**/*.ts`).toSorted() : unitFiles();
}

function unitFiles(): string[] {
  const left = new Set([...declarations, ...acting]);
  const files = [...unitTestsByFile().keys(), ...indirect];
  return [...new Set(files)].filter((file) => !left.has(file) && !file.startsWith(`${pageFolder}/`)).toSorted();
}

/** The files of services/ that unit tests import (not only as types), with these tests. */
export function unitTestsByFile(): Map<string, string[]> {
  const tests = new Map<string, string[]>();
  for (const test of globSync('test/unit/**/*.ts', { exclude: testsLeftOut })) {
    const source = readFileSync(test, 'utf8');
    for (const [, names = '', from = ''] of source.matchAll(/^import (?!type )([^;]*?) from '([^']+)'/gm)) {
      const isTypesOnly = /^\{(\s*type \w+( as \w+)?,?)+\s*\}$/.test(names);
      const file = pathOf(from, test);
      if (!isTypesOnly && file.startsWith('services/')) tests.set(file, [...(tests.get(file) ?? []), test]);
    }
  }
  return tests;
}

function pathOf(from: string, importer: string): string {
  if (from.startsWith('.')) return join(dirname(importer), from);
  return from.replace(/^@webcapture\/shared\//, 'services/shared/');
}

/** Groups page files by their tests, because the tests run once before the first mutant of a batch. */
export function batchesOf(group: GroupName, files: readonly string[]): Batch[] {
  if (group === 'unit') return [{ files }];
  const byTests = Map.groupBy(files, (file) => testsOf(file).join());
  return [...byTests.values()].map((together) => ({ files: together, tests: testsOf(together[0] ?? '') }));
}
