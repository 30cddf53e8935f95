import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The tag of tests that only `npm run test:all` runs; see CONTRIBUTING for the rule. */
export const longTag = 'long';

/** The tag of tests in the long tier that mutation tests run too, because they call single functions in a page and take seconds. */
export const pageScriptTag = 'page-script';

/** `npm test` runs `fast`; `npm run test:all` adds `long`. */
export type Tier = 'fast' | 'long';

/**
 * Returns the tiers of the tests in a file. The comment `@module-tag long` puts the whole file into the long tier. `tags: 'long'` puts a
 * test or a suite there, and `isLong: true` a page of the corpus. If a page is captured both as an image and as a PDF, `testCorpus` puts
 * the PDF into the long tier.
 */
export function tiersOf(source: string): readonly Tier[] {
  if (/^(?:\/\/| \*) @module-tag long\b/m.test(source)) return ['long'];
  return /\btags: 'long'|\bisLong: true\b|\btestCorpus\(/.test(source) ? ['fast', 'long'] : ['fast'];
}

/** Returns all test files of the repository with their tiers, as paths relative to `root`. */
export async function testFiles(root: string): Promise<Map<string, readonly Tier[]>> {
  const files = new Map<string, readonly Tier[]>();
  for await (const path of glob('test/{unit,integration,corpus,e2e,kube,chaos,contract,fuzz}/**/*.test.ts', {
    cwd: root,
  })) {
    files.set(path, tiersOf(await readFile(join(root, path), 'utf8')));
  }
  return files;
}
