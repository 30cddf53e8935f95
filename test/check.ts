import { join, resolve } from 'node:path';
import process from 'node:process';
import { runChecks, summaryOf, type Check, type CheckResult } from './check-runs.ts';

/** `npm run check` runs all checks concurrently: types, lint with import borders, format, dead code and known vulnerabilities. */

const root = resolve(import.meta.dirname, '..');
const cacheFolder = join(root, '.cache/check');
const tool = (name: string) => join(root, 'node_modules/.bin', name);

const tsc = (project: string, cacheName: string): Check['command'] => {
  const cache = ['--incremental', '--tsBuildInfoFile', join(cacheFolder, `${cacheName}.tsbuildinfo`)];
  return [tool('tsc'), '--project', project, ...cache];
};
const prettierCache = ['--cache', '--cache-strategy', 'content', '--cache-location', join(cacheFolder, 'prettier')];

/**
 * tsc and the part of oxlint that knows types are Go programs. Almost everything that they allocate stays in use until they end. Without
 * garbage collection they use 25 to 35% less processor time and 6 to 14% more memory (1.26 GB became 1.43 GB). The limit turns collection
 * on again for a program that would need far more.
 */
const withoutGarbageCollection = { GOGC: 'off', GOMEMLIMIT: '3GiB' };

/** Only the check of the format reads Markdown. */
const isNotMarkdown = (path: string) => !path.endsWith('.md');

const checks: readonly Check[] = [
  { name: 'types', command: tsc('.', 'types'), env: withoutGarbageCollection },
  { name: 'types of the dashboard', command: tsc('services/dashboard', 'dashboard'), env: withoutGarbageCollection },
  // A rule about types can fail in any file that imports, directly or not, an edited file. Lint therefore always checks all files.
  { name: 'lint', command: [tool('oxlint'), '--quiet'], env: withoutGarbageCollection, dependsOn: isNotMarkdown },
  {
    name: 'format',
    command: [tool('prettier'), '--check', '--log-level', 'warn', ...prettierCache, '.'],
    dependsOn: () => true,
  },
  // The cache of knip is not used, because it trusts times of modification.
  { name: 'dead code', command: [tool('knip'), '--no-progress'], dependsOn: isNotMarkdown },
  { name: 'audit', command: [process.execPath, 'deploy/audit/main.ts'] },
];

const signs = { passed: '✓', unchanged: '✓', skipped: '!', failed: '✗' } as const;

const report = ({ name, outcome, seconds, text }: CheckResult) => {
  const note = outcome === 'unchanged' ? 'unchanged' : `${seconds.toFixed(1)} s`;
  process.stdout.write(`${signs[outcome]} ${name} (${note})\n${text === '' ? '' : `${text.trimEnd()}\n`}`);
};
const results = await runChecks(checks, { root, recordFolder: cacheFolder, report });
process.stdout.write(`${summaryOf(results)}\n`);
process.exitCode = results.some(({ outcome }) => outcome === 'failed') ? 1 : 0;
