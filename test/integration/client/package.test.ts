import { execFile } from 'node:child_process';
import { copyFile, cp, mkdir, mkdtempDisposable, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { version } from '@webcapture/shared/runtime/run-service.ts';
import { presetKey, startTestFront } from '../front/test-front.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../../', import.meta.url));
const client = 'services/client';

/** Returns the commands of the client's README that install it: from a release, and from a checkout. */
async function installCommands(): Promise<{ readonly fromRelease: string; readonly fromCheckout: string }> {
  const [, install = ''] = (await readFile(join(root, client, 'README.md'), 'utf8')).split('\n## Install\n');
  const [fromRelease, fromCheckout] = [...install.matchAll(/^```sh\n(.*?)^```/gms)].map(([, commands]) => commands);
  if (fromRelease === undefined || fromCheckout === undefined) throw new Error('the README has not both commands');
  return { fromRelease, fromCheckout };
}

const archive = `webcapture-client-${version}.tgz`;

/**
 * Copies those files of this checkout that the client needs to a folder. npm changes the package.json of the client while it packs, and
 * other tests import the client.
 */
async function copyCheckout(folder: string): Promise<string> {
  const copy = join(folder, 'checkout');
  for (const path of ['package.json', 'package-lock.json', 'LICENSE', 'deploy', client]) {
    const filter = (source: string) => !/\/(?:dist|node_modules)$/.test(source);
    await cp(join(root, path), join(copy, path), { recursive: true, filter });
  }
  await symlink(join(root, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

/** Runs the commands of the release workflow that pack the client. */
async function packForRelease(checkout: string, folder: string): Promise<void> {
  const workflow = await readFile(join(root, '.github/workflows/release.yml'), 'utf8');
  const commands = workflow.split('\n').filter((line) => line.includes('npm pack') && line.includes('"$files"'));
  expect(commands).toHaveLength(1);
  await run('bash', ['-ec', commands.join('\n')], { cwd: checkout, env: { ...process.env, files: folder } });
}

/** Settings of npm. Its cache contains the dependencies, because this repository uses them too. */
const offline = { npm_config_prefer_offline: 'true', npm_config_audit: 'false', npm_config_fund: 'false' };

test(
  'the README installs the client from a checkout and from a release into an empty project, where it runs',
  { tags: 'long', timeout: 180_000 },
  async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'client-'));
    await using front = await startTestFront();
    const checkout = await copyCheckout(folder.path);
    const cwd = join(folder.path, 'project');
    await mkdir(cwd);
    const { fromCheckout, fromRelease } = await installCommands();
    const sh = (commands: string) =>
      run('bash', ['-euo', 'pipefail', '-c', commands], {
        cwd,
        env: { ...process.env, ...offline, CHECKOUT: checkout },
      });
    const startProject = async () => {
      await rm(join(cwd, 'node_modules'), { recursive: true, force: true });
      await rm(join(cwd, 'package-lock.json'), { force: true });
      await writeFile(join(cwd, 'package.json'), JSON.stringify({ type: 'module', private: true }));
    };
    const use = async () => {
      await copyFile(new URL('consumer.ts', import.meta.url), join(cwd, 'consumer.ts'));
      const strict = ['--strict', '--target', 'es2022', '--module', 'nodenext', '--noEmit'];
      await run(join(root, 'node_modules/.bin/tsc'), [...strict, 'consumer.ts'], { cwd });
      const { stdout } = await run(process.execPath, ['consumer.ts', front.url, presetKey], { cwd });
      return JSON.parse(stdout) as unknown;
    };
    const used = ['completed webp', true, true, 1280, true, true];

    await startProject();
    await sh(fromCheckout);
    expect(await use()).toEqual(used);

    // The package that a release has, in a folder in place of its downloads.
    await rm(join(cwd, archive));
    await packForRelease(checkout, cwd);
    const releases = /https:\S+\/v\$version\//g;
    expect(fromRelease.match(releases)).toHaveLength(1);
    await startProject();
    await sh(fromRelease.replace(releases, './'));
    expect(await use()).toEqual(used);
  },
);

test(
  'npm pack in the folder of the sources makes the package of a release, and leaves the sources unchanged',
  { tags: 'long' },
  async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'client-'));
    const checkout = await copyCheckout(folder.path);
    const sources = join(checkout, client);
    const manifest = await readFile(join(sources, 'package.json'), 'utf8');
    const before = await readdir(sources);
    const pack = async (name: string, act: (folder: string) => Promise<unknown>) => {
      const own = join(folder.path, name);
      await mkdir(own);
      await act(own);
      expect(await readdir(own)).toEqual([archive]);
      expect(await readFile(join(sources, 'package.json'), 'utf8')).toBe(manifest);
      expect((await readdir(sources)).filter((each) => each !== 'dist')).toEqual(before);
      return readFile(join(own, archive));
    };
    const inFolder = await pack('folder', (own) => run('npm', ['pack', '--pack-destination', own], { cwd: sources }));
    const ofRelease = await pack('release', (own) => packForRelease(checkout, own));
    expect(inFolder.equals(ofRelease)).toBe(true);
    const { stdout } = await run('tar', ['-xzOf', join(folder.path, 'folder', archive), 'package/package.json']);
    expect(JSON.parse(stdout)).toMatchObject({ version, exports: { '.': { default: './dist/index.js' } } });
    expect(JSON.parse(stdout)).not.toHaveProperty('private');
  },
);

test(
  'a second npm pack at the same time is refused, because it would lose the package.json of the sources',
  { tags: 'long' },
  async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'client-'));
    const sources = join(await copyCheckout(folder.path), client);
    await writeFile(join(sources, 'package.sources.json'), '{}');
    const packed = run('npm', ['pack', '--pack-destination', folder.path], { cwd: sources });
    await expect(packed).rejects.toThrow('another npm pack is running, or one was interrupted');
    expect(JSON.parse(await readFile(join(sources, 'package.json'), 'utf8'))).toHaveProperty('private');
  },
);
