import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright';
import { afterEach, describe, expect, test } from 'vitest';
import { launchBrowser, type LaunchedBrowser } from '../../../services/renderer/browser/launch.ts';
import { readProcessTree, treeBytes } from '../../../services/renderer/browser/process-tree.ts';
import { headlessShellSwitches } from '../../../services/renderer/browser/switches.ts';
import { until } from '../../harness/until.ts';
import { engineConfig } from '../../harness/engine.ts';

const executablePath = engineConfig.headlessShellPath;
const open: LaunchedBrowser[] = [];

async function launch(options: Partial<Parameters<typeof launchBrowser>[0]> = {}) {
  const launched = await launchBrowser({ executablePath, sandbox: 'off', switches: headlessShellSwitches, ...options });
  open.push(launched);
  return launched;
}

afterEach(async () => {
  await Promise.all(open.splice(0).map((launched) => launched.close()));
});

const isAlive = (pid: number) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

describe('a launched browser', () => {
  test('is a tree of processes, which close() ends', async () => {
    const { browser, pid, close } = await launch();
    await browser.newPage();
    const tree = readProcessTree(pid) ?? [];
    expect(tree.length).toBeGreaterThan(2);
    expect(treeBytes(tree)).toBeGreaterThan(30 * 1024 ** 2);
    expect(treeBytes(tree)).toBeLessThan(2 * 1024 ** 3);
    await close();
    await until('the processes to end', () => tree.every((one) => !isAlive(one.pid)));
  });

  test('is ended by kill()', { tags: 'long' }, async () => {
    const { browser, pid, kill } = await launch();
    const tree = readProcessTree(pid) ?? [];
    kill();
    await until('the processes to end', () => !browser.isConnected() && tree.every((one) => !isAlive(one.pid)));
  });

  test('does not get the environment of the renderer', async () => {
    process.env.WEBCAPTURE_TEST_SECRET = 'secret';
    const { pid } = await launch();
    delete process.env.WEBCAPTURE_TEST_SECRET;
    expect(await readFile(`/proc/${pid}/environ`, 'utf8')).not.toContain('WEBCAPTURE_TEST_SECRET');
  });

  test.each(['--disable-features', '--blink-settings'])('keeps the values that Playwright sets in %s', async (name) => {
    const plain = await chromium.launch({ executablePath, chromiumSandbox: false });
    const session = await plain.newBrowserCDPSession();
    const { processInfo } = await session.send('SystemInfo.getProcessInfo');
    const pid = processInfo.find(({ type }) => type === 'browser')?.id ?? 0;
    const theirs = await listOf(name, pid);
    await plain.close();
    const ours = await listOf(name, (await launch()).pid);
    expect(theirs.length).toBeGreaterThan(3);
    expect(ours).toEqual(expect.arrayContaining(theirs));
  });

  test('keeps one view when a page navigates from about:blank to a site', async () => {
    const { browser } = await launch();
    const page = await browser.newPage();
    const session = await browser.newBrowserCDPSession();
    const views: unknown[] = [];
    session.on('Tracing.dataCollected', ({ value }) => {
      views.push(...value.filter((event) => 'name' in event && event.name === 'RenderViewHostImpl::CreateRenderView'));
    });
    await session.send('Tracing.start', { traceConfig: { includedCategories: ['renderer_host', 'navigation'] } });
    await page.route('http://site.test/', (route) => route.fulfill({ body: 'a page' }));
    await page.goto('http://site.test/');
    const complete = new Promise((resolve) => session.once('Tracing.tracingComplete', resolve));
    await session.send('Tracing.end');
    await complete;
    expect(views).toEqual([]);
  });
});

/** Returns the values of a switch with a list. Chromium uses the last switch of that name. */
async function listOf(name: string, pid: number): Promise<string[]> {
  const commandLine = (await readFile(`/proc/${pid}/cmdline`, 'utf8')).split('\0');
  const last = commandLine.findLast((part) => part.startsWith(`${name}=`));
  return last?.slice(`${name}=`.length).split(',') ?? [];
}

describe.each(['headlessShellPath', 'chromiumPath'] as const)('the temporary files of %s', (path) => {
  test('are removed when it ends, even if it was killed', async () => {
    const parent = process.env.TMPDIR;
    const folder = await mkdtemp(join(tmpdir(), 'wc-'));
    process.env.TMPDIR = folder;
    try {
      for (const end of ['close', 'kill'] as const) {
        const { browser, [end]: endIt } = await launch({ executablePath: engineConfig[path] });
        await browser.newPage();
        expect(await readdir(folder)).not.toEqual([]);
        await endIt();
        await until('the files to be gone', async () => (await readdir(folder)).length === 0);
      }
    } finally {
      if (parent === undefined) delete process.env.TMPDIR;
      else process.env.TMPDIR = parent;
      await rm(folder, { recursive: true });
    }
  });
});

describe('the error for a browser that does not start says that', () => {
  test('the file is missing', async () => {
    await expect(launch({ executablePath: '/nowhere/chromium' })).rejects.toThrow(/no browser at \/nowhere\/chromium/);
  });

  test.runIf(process.getuid?.() === 0)('root has no sandbox', async () => {
    await expect(launch({ sandbox: 'on' })).rejects.toThrow(/no sandbox for root.*WEBCAPTURE_CHROMIUM_SANDBOX=off/);
  });

  test.for([
    ['No usable sandbox! If you are running on Ubuntu', /user namespaces/],
    ['error while loading shared libraries: libnss3.so: cannot open shared object file', /library libnss3\.so/],
    ['nonsense', /could not be started/],
  ])('%s', async ([said, explained]) => {
    const folder = await mkdtemp(join(tmpdir(), 'webcapture-test-'));
    const script = join(folder, 'chromium');
    await writeFile(script, `#!/bin/sh\necho '${said}' >&2\nexit 1\n`);
    await chmod(script, 0o755);
    await expect(launch({ executablePath: script, sandbox: 'on' })).rejects.toThrow(explained);
    await rm(folder, { recursive: true });
  });
});
