import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { affectedTests, changedFiles } from '../../runner/changed.ts';

let root: string;

const files: Readonly<Record<string, string>> = {
  'services/shared/policy.ts': 'export const policy = 1;',
  'services/shared/limits.ts': "import type { Region } from './regions.ts';",
  'services/shared/regions.ts': 'export type Region = string;',
  'services/front/main.ts': "import { limits } from '@webcapture/shared/limits.ts';",
  'services/renderer/main.ts': "import '../shared/policy.ts';",
  'services/controller/main.ts': '',
  'services/controller/lazy.ts': "await import('@webcapture/shared/regions.ts');",
  'charts/webcapture/values.yaml': '',
  'docs/api.md': '',
  'test/harness/service-process.ts': '',
  'test/harness/helm.ts': '',
  'test/harness/fleet.ts': "import { ServiceProcess } from './service-process.ts';",
  'test/unit/policy.test.ts': "import { policy } from '@webcapture/shared/policy.ts';",
  'test/unit/lazy.test.ts': "import '../../services/controller/lazy.ts';",
  'test/integration/chart.test.ts': "import { helm } from '../harness/helm.ts';",
  'test/integration/docs.test.ts': "readFile('docs/api.md'), readdir('docs/')",
  'test/e2e/pages.test.ts': "import { useFleet } from '../harness/fleet.ts';",
};
const tests = Object.keys(files).filter((path) => path.endsWith('.test.ts'));
const git = (...args: string[]) =>
  promisify(execFile)('git', ['-c', 'user.name=test', '-c', 'user.email=test@example.com', ...args], { cwd: root });

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'wc-'));
  for (const [path, source] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), source);
  }
  await git('init', '--quiet');
  await git('add', '.');
  await git('commit', '--quiet', '--message', 'first');
});
afterAll(() => rm(root, { recursive: true }));

describe('affectedTests', () => {
  test.each<[changed: string, affected: readonly string[]]>([
    ['test/unit/policy.test.ts', ['test/unit/policy.test.ts']],
    // The fleet starts the renderer as a process, and the renderer imports the file by a relative path.
    ['services/shared/policy.ts', ['test/unit/policy.test.ts', 'test/e2e/pages.test.ts']],
    // The file is imported as a type, and by a dynamic import.
    ['services/shared/regions.ts', ['test/unit/lazy.test.ts', 'test/e2e/pages.test.ts']],
    ['services/controller/lazy.ts', ['test/unit/lazy.test.ts']],
    ['charts/webcapture/values.yaml', ['test/integration/chart.test.ts']],
    ['docs/api.md', ['test/integration/docs.test.ts']],
    ['docs/images/capture.png', ['test/integration/docs.test.ts']],
    ['LICENSE', []],
    ['vitest.config.ts', tests],
    ['package-lock.json', tests],
  ])('finds the tests that a change of %s can break', async (changed, affected) => {
    expect((await affectedTests(root, tests, [changed])).toSorted()).toEqual(affected.toSorted());
  });
});

test('changedFiles lists the differences to a commit, with untracked files', async () => {
  expect(await changedFiles(root)).toEqual([]);
  await writeFile(join(root, 'docs/api.md'), 'changed');
  await writeFile(join(root, 'docs/new.md'), '');
  expect(await changedFiles(root)).toEqual(['docs/api.md', 'docs/new.md']);
  await git('add', '.');
  await git('commit', '--quiet', '--message', 'second');
  expect(await changedFiles(root)).toEqual([]);
  expect(await changedFiles(root, 'HEAD~1')).toEqual(['docs/api.md', 'docs/new.md']);
  await expect(changedFiles(root, 'no-such-commit')).rejects.toThrow('no-such-commit');
});
