import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pageFolder, testsOf } from './page-tests.ts';

export type GroupName = 'unit' | 'page';

/** Files that StrykerJS mutates in one run, and for the page group the browser tests that are to notice. */
export interface Batch {
  readonly files: readonly string[];
  readonly tests?: readonly string[];
}

export const groupNames = ['unit', 'page'] as const;

/** Imported by unit tests, and not mutated: schemas and sample data, in which nearly every mutant is a text that only people read. */
export const declarations = [
  'services/front/api/examples.ts',
  'services/shared/api/capture-request.ts',
  'services/shared/api/capture.ts',
  'services/shared/api/envelope.ts',
  'services/shared/api/status.ts',
];

/** Imported by unit tests for one decision, and not mutated: the rest of the file reads, writes or listens, as integration tests check. */
export const acting = [
  'services/cli/batch/runner.ts',
  'services/cli/batch/sitemap.ts',
  'services/cli/capture/command.ts',
  'services/controller/jobs/orphans/pass.ts',
  'services/controller/jobs/webhooks/deliver.ts',
  'services/controller/jobs/webhooks/send.ts',
  'services/controller/streams.ts',
  'services/dashboard/pages/captures/capture-store.ts',
  'services/front/api/admin.ts',
  'services/front/api/send-file.ts',
  'services/front/auth/key-issuer.ts',
  'services/front/auth/keys.ts',
  'services/front/auth/preset-key.ts',
  'services/front/capture/idempotency.ts',
  'services/renderer/browser/isolated-world.ts',
  'services/shared/nats/connect.ts',
];

/** Decide from their input, and are tested by way of other files. */
const indirect = ['services/front/capture/render-options.ts'];

/** Unit tests that are not run: of the text of a source, which StrykerJS changes, and of random inputs, which take seconds. */
export const testsLeftOut = ['test/unit/front/status-page-script.test.ts', 'test/unit/fuzz/fuzz.test.ts'];

export function filesOf(group: GroupName): string[] {
  return group === 'page' ? globSync(`${pageFolder}/**/*.ts`).toSorted() : unitFiles();
}

function unitFiles(): string[] {
  const left = new Set([...declarations, ...acting]);
  const files = [...unitTestsByFile().keys(), ...indirect];
  return [...new Set(files)].filter((file) => !left.has(file) && !file.startsWith(`${pageFolder}/`)).toSorted();
}

/** The files of services/ whose values, not only types, unit tests import, with these tests. */
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

/** Page files with the same tests go together, because the tests have to run once before the first mutant. */
export function batchesOf(group: GroupName, files: readonly string[]): Batch[] {
  if (group === 'unit') return [{ files }];
  const byTests = Map.groupBy(files, (file) => testsOf(file).join());
  return [...byTests.values()].map((together) => ({ files: together, tests: testsOf(together[0] ?? '') }));
}
