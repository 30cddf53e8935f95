import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const read = (file: string) => readFile(join(root, file), 'utf8');

interface Manager {
  readonly managerFilePatterns: readonly string[];
  readonly matchStrings: readonly string[];
}

/**
 * Returns the versions that Renovate finds in deploy/tools. Like Renovate, reads the named groups of all matches in the files of a manager.
 */
async function found(): Promise<readonly { file: string; depName: string; currentValue: string }[]> {
  const { customManagers } = JSON.parse(await read('.github/renovate.json')) as { customManagers: readonly Manager[] };
  const all: { file: string; depName: string; currentValue: string }[] = [];
  for await (const file of glob('deploy/tools/**/*.ts', { cwd: root })) {
    const text = await read(file);
    for (const { managerFilePatterns, matchStrings } of customManagers) {
      if (!managerFilePatterns.some((pattern) => new RegExp(pattern.slice(1, -1)).test(file))) continue;
      for (const { groups } of matchStrings.flatMap((it) => [...text.matchAll(new RegExp(it, 'g'))])) {
        all.push({ file, depName: groups?.['depName'] ?? '', currentValue: groups?.['currentValue'] ?? '' });
      }
    }
  }
  return all;
}

test('Renovate finds the version of every tool that is built with Go', async () => {
  const versions = await found();
  for await (const file of glob('deploy/tools/*.ts', { cwd: root })) {
    const text = await read(file);
    const [, name] = /\bgoInstall\(\{ package: (\S+),/.exec(text) ?? [];
    if (name === undefined) continue;
    const own = versions.filter((version) => version.file === file);
    expect(own, file).toHaveLength(1);
    // The package may be in a folder of the module.
    expect(text).toContain(`'${own[0]?.depName}`);
    expect(own[0]?.currentValue).toMatch(/^\d+\.\d+\.\d+$/);
  }
  expect(versions.length).toBeGreaterThan(4);
});

test('Renovate finds every Go module of which the tests take files', async () => {
  const text = await read('deploy/tools/operator-crds.ts');
  const modules = [...text.matchAll(/module: '([^']+)'/g)].map(([, module]) => module);
  const own = (await found()).filter(({ file }) => file === 'deploy/tools/operator-crds.ts');
  expect(own.map(({ depName }) => depName)).toEqual(modules);
});

test('the rules of Renovate name files that exist', async () => {
  const { packageRules } = JSON.parse(await read('.github/renovate.json')) as {
    packageRules: readonly { matchFileNames?: readonly string[] }[];
  };
  const files = packageRules.flatMap(({ matchFileNames = [] }) => matchFileNames);
  expect(files).toContain('deploy/tools/helm.ts');
  for (const file of files) await read(file);
});

test('the paths of CODEOWNERS exist, and each line has an owner', async () => {
  const lines = (await read('.github/CODEOWNERS')).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  expect(lines[0]).toMatch(/^\* +@/);
  for (const line of lines) {
    const [path = '', ...owners] = line.split(/ +/);
    expect(owners, line).not.toEqual([]);
    let matches = path === '*' ? 1 : 0;
    if (path !== '*') for await (const _ of glob(path.slice(1).replace(/\/$/, ''), { cwd: root })) matches += 1;
    expect(matches, line).toBeGreaterThan(0);
  }
});
