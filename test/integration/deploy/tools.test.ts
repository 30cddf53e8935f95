import { chmod, mkdir, readdir, writeFile } from 'node:fs/promises';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { delimiter, join } from 'node:path';
import { minNatsVersion } from '@webcapture/shared/nats/connect.ts';
import { describe, expect, test } from 'vitest';
import { cacheDirOf } from '../../../deploy/tools/cache-dir.ts';
import { storeInCache } from '../../../deploy/tools/cached-file.ts';
import { ensureTool } from '../../../deploy/tools/ensure-tool.ts';
import { inspectProgram } from '../../../deploy/tools/inspect-program.ts';
import { natsServer } from '../../../deploy/tools/nats-server.ts';
import { operatorCrds } from '../../../deploy/tools/operator-crds.ts';
import { registry } from '../../../deploy/tools/registry.ts';
import { findInCache } from '../../../deploy/tools/strategies/find-in-cache.ts';
import { findInPath } from '../../../deploy/tools/strategies/find-in-path.ts';
import { useTool } from '../../../deploy/tools/strategies/use-tool.ts';
import type { Strategy, Tool } from '../../../deploy/tools/tool.ts';
import { compareVersions } from '../../../deploy/tools/versions.ts';
import { until } from '../../harness/until.ts';
import { tempDir } from './support.ts';

/** Creates a program that prints its version. */
async function program(path: string, version: string): Promise<string> {
  await mkdir(join(path, '..'), { recursive: true });
  await writeFile(path, `#!/bin/sh\necho "gadget: v${version}"\n`);
  await chmod(path, 0o755);
  return path;
}

/** Makes the tool in the cache, and counts how often it does. */
function makeIt(count: { made: number }): Strategy {
  return {
    title: 'make it',
    candidates: async (tool, context) => {
      count.made++;
      context.log('making it');
      return [await storeInCache(context, tool.name, '3.0.0', (folder) => program(join(folder, 'made'), '3.0.0'))];
    },
  };
}

function gadget(install: readonly Strategy[] = []): Tool {
  return {
    name: 'gadget',
    variable: 'GADGET_PATH',
    inspect: inspectProgram({ args: ['--version'], minimum: '2.14.0' }),
    find: [findInPath('gadget', 'gizmo'), findInCache('3.0.0')],
    install,
    byHand: () => 'make gadget',
  };
}

async function setting() {
  const root = await tempDir();
  const folders = ['a', 'b'].map((name) => join(root, name));
  const lines: string[] = [];
  const env = { WEBCAPTURE_CACHE_DIR: join(root, 'cache'), PATH: [...folders, process.env['PATH']].join(delimiter) };
  return { root, lines, env, log: (line: string) => void lines.push(line) };
}

describe('ensureTool', () => {
  test('returns the first tool in PATH that is new enough', async () => {
    const { root, env } = await setting();
    await program(join(root, 'a', 'gadget'), '2.9.10');
    const newer = await program(join(root, 'b', 'gadget'), '2.14.0');
    expect(await ensureTool('gadget', { env, tools: [gadget()] })).toEqual({ path: newer, version: '2.14.0' });
  });

  test('makes a missing tool once, and then finds it in the cache', async () => {
    const { root, env, log, lines } = await setting();
    const count = { made: 0 };
    const tools = [gadget([makeIt(count)])];
    const first = await ensureTool('gadget', { env, log, tools });
    expect(first.version).toBe('3.0.0');
    expect(first.path.startsWith(join(root, 'cache', 'gadget'))).toBe(true);
    expect(await ensureTool('gadget', { env, log, tools })).toEqual(first);
    expect(count.made).toBe(1);
    expect(lines).toEqual(['gadget: making it']);
  });

  test('tries the next strategy if one fails or finds no usable tool', async () => {
    const { root, env, log, lines } = await setting();
    const fails: Strategy = { title: 'download', candidates: () => Promise.reject(new Error('no answer')) };
    const old: Strategy = { title: 'package', candidates: async () => [await program(join(root, 'old'), '1.0.0')] };
    const count = { made: 0 };
    await ensureTool('gadget', { env, log, tools: [gadget([fails, old, makeIt(count)])] });
    expect(lines).toEqual([
      'gadget: download: no answer',
      `gadget: package: ${join(root, 'old')} is 1.0.0, older than 2.14.0`,
      'gadget: making it',
    ]);
  });

  test('lists all attempts in its error, with the command to run', async () => {
    const { root, env } = await setting();
    await program(join(root, 'a', 'gizmo'), '2.13.9');
    const fails: Strategy = { title: 'download', candidates: () => Promise.reject(new Error('no answer')) };
    const failure: unknown = await ensureTool('gadget', { env, tools: [gadget([fails])] }).catch(
      (error: unknown) => error,
    );
    expect((failure as Error).message.split('\n')).toEqual([
      'gadget could not be set up.',
      'Tried:',
      `  - PATH: ${join(root, 'a', 'gizmo')} is 2.13.9, older than 2.14.0`,
      `  - cache: no gadget in ${join(root, 'cache')}`,
      '  - download: no answer',
      'Set it up by hand, then start again:',
      '  make gadget',
    ]);
  });

  test('uses only the tool of its variable, if set', async () => {
    const { root, env } = await setting();
    const inPath = await program(join(root, 'a', 'gadget'), '2.15.0');
    const named = await program(join(root, 'mine'), '2.16.0');
    const tools = [gadget()];
    expect((await ensureTool('gadget', { env: { ...env, GADGET_PATH: named }, tools })).path).toBe(named);
    expect((await ensureTool('gadget', { env: { ...env, GADGET_PATH: '' }, tools })).path).toBe(inPath);
    await expect(ensureTool('gadget', { env: { ...env, GADGET_PATH: '/nowhere' }, tools })).rejects.toThrow(
      'GADGET_PATH must name a usable gadget: /nowhere does not run: spawn /nowhere ENOENT',
    );
  });

  test('can use another tool as a replacement', async () => {
    const { root, env } = await setting();
    const path = await program(join(root, 'a', 'full'), '3.1.0');
    const full: Tool = { ...gadget(), name: 'full', find: [findInPath('full')] };
    expect(await ensureTool('gadget', { env, tools: [gadget([useTool('full')]), full] })).toEqual({
      path,
      version: '3.1.0',
    });
    await expect(
      ensureTool('gadget', { env: { ...env, PATH: '' }, tools: [gadget([useTool('full')]), full] }),
    ).rejects.toThrow('  - full in its place: full could not be set up.\n');
  });

  test('makes a tool once for concurrent callers, in this and other processes', async () => {
    const { root, env, lines, log } = await setting();
    const script = join(root, 'caller.ts');
    await writeFile(script, callerScript(root));
    const callers = Array.from({ length: 3 }, () => spawn(process.execPath, [script], { env, stdio: 'inherit' }));
    const codes = await Promise.all(callers.map(async (caller) => (await once(caller, 'exit'))[0] as unknown));
    expect(codes).toEqual([0, 0, 0]);
    expect(await readdir(join(root, 'made'))).toHaveLength(1);

    const count = { made: 0 };
    const other = { ...env, WEBCAPTURE_CACHE_DIR: join(root, 'other') };
    const waiting = () => lines.filter((line) => line.includes('another process is setting it up')).length;
    const slow: Strategy = {
      title: 'slow',
      candidates: async (tool, context) => {
        await until('the others to wait', () => waiting() === 2);
        return makeIt(count).candidates(tool, context);
      },
    };
    await Promise.all([1, 2, 3].map(() => ensureTool('gadget', { env: other, log, tools: [gadget([slow])] })));
    expect(count.made).toBe(1);
    expect(waiting()).toBe(2);
  });

  test('reports a cache that is not writable', async () => {
    const { root, env } = await setting();
    const file = await program(join(root, 'file'), '1.0.0');
    await expect(
      ensureTool('gadget', { env: { ...env, WEBCAPTURE_CACHE_DIR: file }, tools: [gadget()] }),
    ).rejects.toThrow('WEBCAPTURE_CACHE_DIR must name a folder to write to: ENOTDIR');
  });

  test('ends on a stop', async () => {
    const { env } = await setting();
    const stop = new AbortController();
    const hangs: Strategy = {
      title: 'hang',
      candidates: (_tool, { signal }) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('ended')))),
    };
    const failure = ensureTool('gadget', { env, signal: stop.signal, tools: [gadget([hangs])] }).catch(String);
    setTimeout(() => stop.abort(new Error('told to stop')), 100);
    expect(await failure).toContain('told to stop');
  });
});

test('the cache removes incomplete folders of a killed process', async () => {
  const cacheDir = await tempDir();
  await mkdir(join(cacheDir, 'gadget', '.making-of-a-killed-one'), { recursive: true });
  await storeInCache({ cacheDir }, 'gadget', '1.0.0', (folder) => program(join(folder, 'made'), '1.0.0'));
  expect(await readdir(join(cacheDir, 'gadget'))).toEqual([expect.stringMatching(/^1\.0\.0-/)]);
  const failing = storeInCache({ cacheDir }, 'gadget', '2.0.0', () => Promise.reject(new Error('broken')));
  await expect(failing).rejects.toThrow('broken');
  expect(await readdir(join(cacheDir, 'gadget'))).toHaveLength(1);
});

test('a folder of the cache is replaced if stored again', async () => {
  const cacheDir = await tempDir();
  for (const file of ['old', 'new']) {
    const path = await storeInCache({ cacheDir }, 'gadget', 'apt', async (folder) => {
      await mkdir(join(folder, 'made'));
      await writeFile(join(folder, 'made', file), '');
      return join(folder, 'made');
    });
    expect(await readdir(path)).toEqual([file]);
  }
});

test('CRDs are not usable if one is missing', async () => {
  const folder = await tempDir();
  await writeFile(join(folder, 'monitoring.coreos.com_servicemonitors.yaml'), '');
  await expect(operatorCrds.inspect(folder)).rejects.toThrow(
    'has no monitoring.coreos.com_prometheusrules.yaml, keda.sh_scaledobjects.yaml, gateway.networking.k8s.io_httproutes.yaml',
  );
});

test('the folder of the cache follows the environment', () => {
  expect(cacheDirOf({ WEBCAPTURE_CACHE_DIR: '/c', XDG_CACHE_HOME: '/x', HOME: '/h' })).toBe('/c');
  expect(cacheDirOf({ XDG_CACHE_HOME: '/x', HOME: '/h' })).toBe('/x/webcapture');
  expect(cacheDirOf({ HOME: '/h' }, 'linux')).toBe('/h/.cache/webcapture');
  expect(cacheDirOf({ HOME: '/h' }, 'darwin')).toBe('/h/Library/Caches/webcapture');
});

test.each([
  ['2.14.0', '2.14', 0],
  ['2.9.10', '2.14.0', -1],
  ['2.15.2', '2.15.10', -1],
  ['156.0.8078.79', '132.0', 1],
])('version %s compared with %s', (a, b, sign) => {
  expect(Math.sign(compareVersions(a, b))).toBe(sign);
});

test('set-up and services accept the same versions of nats-server', async () => {
  const { root } = await setting();
  expect(await natsServer.inspect(await program(join(root, 'nats-server'), minNatsVersion))).toBe(minNatsVersion);
  const justBefore = await program(join(root, 'older'), '2.13.99');
  await expect(natsServer.inspect(justBefore)).rejects.toThrow(`older than ${minNatsVersion}`);
});

test('every tool of the registry has a unique name and a command to run by hand', () => {
  expect(new Set(registry.map(({ name }) => name)).size).toBe(registry.length);
  for (const tool of registry) {
    for (const platform of ['linux', 'darwin'] as const) expect(tool.byHand(platform)).not.toMatch(/\n|^$/);
  }
});

/** Returns the script of a process that needs a tool with a slow build. Each build creates a folder in `made`. */
function callerScript(root: string): string {
  const module = (name: string) => JSON.stringify(new URL(`../../../deploy/tools/${name}`, import.meta.url).href);
  return `
    import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
    import { ensureTool } from ${module('ensure-tool.ts')};
    import { storeInCache } from ${module('cached-file.ts')};
    import { findInCache } from ${module('strategies/find-in-cache.ts')};
    mkdirSync('${root}/made', { recursive: true });
    const make = {
      title: 'make it',
      candidates: async (tool, context) => [
        await storeInCache(context, tool.name, '1.0.0', async (folder) => {
          mkdtempSync('${root}/made/once-');
          await new Promise((resolve) => setTimeout(resolve, 500));
          writeFileSync(folder + '/made', '#!/bin/sh');
          return folder + '/made';
        }),
      ],
    };
    const tool = {
      name: 'gadget',
      inspect: async () => '1.0.0',
      find: [findInCache('1.0.0')],
      install: [make],
      byHand: () => '',
    };
    await ensureTool('gadget', { tools: [tool] });
  `;
}
