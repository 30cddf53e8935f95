import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtempDisposable, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { version } from '@webcapture/shared/runtime/run-service.ts';
import { presetKey, startTestFront } from '../front/test-front.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../../', import.meta.url));
const client = join(root, 'services/client');

/** Returns the commands of the client's README that install it: from a release, and from a checkout. */
async function installCommands(): Promise<{ readonly fromRelease: string; readonly fromCheckout: string }> {
  const [, install = ''] = (await readFile(join(client, 'README.md'), 'utf8')).split('\n## Install\n');
  const [fromRelease, fromCheckout] = [...install.matchAll(/^```sh\n(.*?)^```/gms)].map(([, commands]) => commands);
  if (fromRelease === undefined || fromCheckout === undefined) throw new Error('the README has not both commands');
  return { fromRelease, fromCheckout };
}

const archive = `webcapture-client-${version}.tgz`;

/** Runs the commands of the release workflow that pack the client. */
async function packForRelease(folder: string): Promise<void> {
  const workflow = await readFile(join(root, '.github/workflows/release.yml'), 'utf8');
  const commands = workflow.split('\n').filter((line) => line.includes('npm pack') && line.includes('"$files"'));
  expect(commands).toHaveLength(1);
  await run('bash', ['-ec', commands.join('\n')], { cwd: root, env: { ...process.env, files: folder } });
}

/** Settings of npm: its cache has the dependencies, as this repository uses them, too. */
const offline = { npm_config_prefer_offline: 'true', npm_config_audit: 'false', npm_config_fund: 'false' };

test(
  'the README installs the client from a checkout and from a release into an empty project, where it runs',
  { tags: 'long', timeout: 180_000 },
  async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'client-'));
    await using front = await startTestFront();
    const cwd = folder.path;
    const { fromCheckout, fromRelease } = await installCommands();
    const sh = (commands: string) =>
      run('bash', ['-euo', 'pipefail', '-c', commands], { cwd, env: { ...process.env, ...offline, CHECKOUT: root } });
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
    await packForRelease(cwd);
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
    const sources = await readFile(join(client, 'package.json'), 'utf8');
    const before = await readdir(client);
    const pack = async (name: string, act: (folder: string) => Promise<unknown>) => {
      const own = join(folder.path, name);
      await mkdir(own);
      await act(own);
      expect(await readdir(own)).toEqual([archive]);
      expect(await readFile(join(client, 'package.json'), 'utf8')).toBe(sources);
      expect((await readdir(client)).filter((each) => each !== 'dist')).toEqual(
        before.filter((each) => each !== 'dist'),
      );
      return readFile(join(own, archive));
    };
    const inFolder = await pack('folder', (own) => run('npm', ['pack', '--pack-destination', own], { cwd: client }));
    const ofRelease = await pack('release', packForRelease);
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
    const kept = join(client, 'package.sources.json');
    await writeFile(kept, '{}');
    onTestFinished(() => rm(kept, { force: true }));
    const packed = run('npm', ['pack', '--pack-destination', folder.path], { cwd: client });
    await expect(packed).rejects.toThrow('another npm pack is running, or one was interrupted');
    expect(JSON.parse(await readFile(join(client, 'package.json'), 'utf8'))).toHaveProperty('private');
  },
);
