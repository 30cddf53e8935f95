// @module-tag long
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ensureTool } from '../../../deploy/tools/ensure-tool.ts';
import { releasePlatform } from '../../../deploy/tools/platform.ts';
import { aptInstall } from '../../../deploy/tools/strategies/apt-install.ts';
import { aptUnpack } from '../../../deploy/tools/strategies/apt-unpack.ts';
import { programsInPath } from '../../../deploy/tools/strategies/find-in-path.ts';
import { goBuild } from '../../../deploy/tools/strategies/go-build.ts';
import { findInPlaywright } from '../../../deploy/tools/strategies/playwright.ts';
import type { Strategy, Tool } from '../../../deploy/tools/tool.ts';
import { tempDir } from './support.ts';

const gadget = (install: Strategy): Tool => ({
  name: 'gadget',
  inspect: () => Promise.resolve('1'),
  find: [],
  install: [install],
  byHand: () => 'get it',
});

async function script(path: string, source: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, `#!/bin/sh\n${source}\n`);
  await chmod(path, 0o755);
}

describe.runIf(process.platform === 'linux')('aptInstall', () => {
  const install = aptInstall({
    packages: ['gadget', 'gadget-data'],
    candidates: (_tool, { env }) => programsInPath(['gadget'], env),
  });

  /** A fake apt-get (and sudo) that records its calls. */
  async function system(aptGet: string) {
    const root = await tempDir();
    const bin = join(root, 'bin');
    await script(
      join(bin, 'apt-get'),
      `echo "$@" >> ${root}/calls; echo "$DEBIAN_FRONTEND" >> ${root}/frontend\n${aptGet}`,
    );
    await script(join(bin, 'sudo'), 'test "$1" = -n && shift && exec "$@"');
    const env = {
      PATH: [bin, process.env['PATH']].join(delimiter),
      WEBCAPTURE_CACHE_DIR: join(root, 'cache'),
      ROOT: root,
      BIN: bin,
    };
    const calls = async () =>
      (await readFile(join(root, 'calls'), 'utf8'))
        .trim()
        .split('\n')
        .map((call) => call.replace(/^-q (-o \S+ )*/, ''));
    return { root, bin, env, calls };
  }

  const installs = 'case "$*" in *--download-only*) ;; *" install "*) cp "$0" "$BIN/gadget";; esac';

  test('downloads, then installs, without questions', async () => {
    const { root, bin, env, calls } = await system(installs);
    expect(await ensureTool('gadget', { env, tools: [gadget(install)] })).toEqual({
      path: join(bin, 'gadget'),
      version: '1',
    });
    expect(await calls()).toEqual([
      'install -y --no-install-recommends gadget gadget-data --download-only',
      'install -y --no-install-recommends gadget gadget-data',
    ]);
    expect(new Set((await readFile(join(root, 'frontend'), 'utf8')).trim().split('\n'))).toEqual(
      new Set(['noninteractive']),
    );
  });

  test('updates the package lists if they are missing', async () => {
    const { env, calls } = await system(
      `case "$*" in *update*) touch "$ROOT/lists";; *) test -e "$ROOT/lists" || { echo "E: Unable to locate package gadget" >&2; exit 100; };; esac\n${installs}`,
    );
    await ensureTool('gadget', { env, tools: [gadget(install)] });
    expect((await calls()).map((call) => call.split(' ').at(-1))).toEqual([
      '--download-only',
      'update',
      '--download-only',
      'gadget-data',
    ]);
  });

  test('reports the error of apt-get', async () => {
    const { env } = await system('echo "E: Unable to locate package gadget" >&2; exit 100');
    await expect(ensureTool('gadget', { env, tools: [gadget(install)] })).rejects.toThrow(
      '  - apt-get install gadget gadget-data: exit code 100: E: Unable to locate package gadget\n',
    );
  });

  test('only unpacks a package, without root, if only its programs are needed', async () => {
    const { root, bin, env, calls } = await system(
      'case "$*" in *update*) touch "$ROOT/lists";; *) test -e "$ROOT/lists" && echo content > gadget_1_all.deb;; esac',
    );
    await script(join(bin, 'dpkg-deb'), 'mkdir -p "$3/usr/bin" && cp "$2" "$3/usr/bin/gadget"');
    const unpack = aptUnpack({ package: 'gadget', kept: 'usr/bin' });
    const { path } = await ensureTool('gadget', { env, tools: [gadget(unpack)] });
    expect(await readFile(join(path, 'gadget'), 'utf8')).toBe('content\n');
    expect(path.startsWith(join(root, 'cache', 'gadget', 'apt-'))).toBe(true);
    expect(await calls()).toEqual(['download gadget', 'update', 'download gadget']);
  });

  test('reports that there is no apt-get', async () => {
    const { env } = await system('');
    await expect(ensureTool('gadget', { env: { ...env, PATH: '/nowhere' }, tools: [gadget(install)] })).rejects.toThrow(
      'there is no apt-get here',
    );
  });
});

describe("Playwright's cache", () => {
  const browser = { name: 'chromium-headless-shell', programs: ['headless_shell', 'chrome-headless-shell'], args: [] };
  const tools = [gadget(findInPlaywright(browser))];

  test('has a browser only after its installation is complete', async () => {
    const root = await tempDir();
    const env = {
      ...process.env,
      PLAYWRIGHT_BROWSERS_PATH: join(root, 'browsers'),
      WEBCAPTURE_CACHE_DIR: join(root, 'cache'),
    };
    const failure: unknown = await ensureTool('gadget', { env, tools }).catch((error: unknown) => error);
    const folder = /nothing in (\S+)/.exec((failure as Error).message)?.[1] ?? '';
    expect(folder).toMatch(/browsers\/chromium_headless_shell-\d+$/);

    const program = join(folder, 'chrome-headless-shell-linux64', 'chrome-headless-shell');
    await script(program, 'exit');
    await expect(ensureTool('gadget', { env, tools })).rejects.toThrow('nothing in');
    await writeFile(join(folder, 'INSTALLATION_COMPLETE'), '');
    expect(await ensureTool('gadget', { env, tools })).toEqual({ path: program, version: '1' });
  });
});

describe.skipIf(process.platform === 'win32')('goBuild', () => {
  /** A fake Go that writes its arguments to the output file. */
  const fakeGo = 'while [ "$1" != -o ]; do args="$args $1"; shift; done; echo "$args" > "$2/gadget"';
  const build = (kept: string) =>
    goBuild({
      module: new URL('file:///some/module/'),
      programs: ['gadget'],
      version: '1.2.3',
      variables: { 'a.b': 'v1' },
      kept,
    });
  const tools = (path: string, kept: string): Tool[] => [
    gadget(build(kept)),
    { ...gadget(build(kept)), name: 'go', install: [{ title: 'there', candidates: () => Promise.resolve([path]) }] },
  ];

  test.each([
    ['gadget', ''],
    ['.', '/gadget'],
  ])('builds a module of this repository and keeps %s', async (kept, inside) => {
    const root = await tempDir();
    await script(join(root, 'go'), fakeGo);
    const env = { ...process.env, WEBCAPTURE_CACHE_DIR: join(root, 'cache') };
    const { path } = await ensureTool('gadget', { env, tools: tools(join(root, 'go'), kept) });
    expect(path).toBe(join(root, 'cache', 'gadget', `1.2.3-${releasePlatform()}`, 'gadget'));
    expect(await readFile(`${path}${inside}`, 'utf8')).toBe(
      ' build -C /some/module/ -mod=readonly -buildvcs=false -ldflags -s -w -X a.b=v1\n',
    );
  });
});
