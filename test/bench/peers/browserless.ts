import { execFile } from 'node:child_process';
import { mkdir, readFile, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { storeInCache } from '../../../deploy/tools/cached-file.ts';
import { runCommand } from '../../../deploy/tools/run-command.ts';
import { findInCache } from '../../../deploy/tools/strategies/find-in-cache.ts';
import type { Strategy, Tool } from '../../../deploy/tools/tool.ts';
import { freePort } from '../../harness/free-port.ts';
import type { Contender } from '../speed/contender.ts';
import { peerContender } from '../speed/peer-contenders.ts';
import { installPeer, startPeer, type PeerOptions } from './start-peer.ts';

const run = promisify(execFile);

const npmPackage = '@browserless.io/browserless';
const version = '2.42.0';
const name = 'browserless';

/** The folder of the package in a folder into which npm has installed it. */
const packageIn = (installed: string) => join(installed, 'node_modules', npmPackage);

/** Installs the package with its 600 MB of dependencies into a folder of the cache. Scripts of packages do not run. */
const npmInstall: Strategy = {
  title: `npm install of ${npmPackage} ${version}`,
  candidates: async (tool, context) => {
    context.log(`installing version ${version} with npm`);
    const path = await storeInCache(context, tool.name, version, async (folder) => {
      const installed = join(folder, 'installed');
      await mkdir(installed);
      const args = ['install', '--prefix', installed, '--ignore-scripts', '--no-audit', '--no-fund'];
      await runCommand('npm', [...args, `${npmPackage}@${version}`], {
        env: context.env,
        timeoutMs: 10 * 60_000,
        signal: context.signal,
      });
      return installed;
    });
    return [path];
  },
};

const browserless: Tool = {
  name,
  inspect: async (path) => {
    const text = await readFile(join(packageIn(path), 'package.json'), 'utf8');
    return (JSON.parse(text) as { version: string }).version;
  },
  find: [findInCache(version)],
  install: [npmInstall],
  byHand: () => 'allow npm to reach its registry',
};

/** Starts browserless with as many concurrent captures as there are slots. */
export async function startBrowserless(
  parts: AsyncDisposableStack,
  { tools, slots, tempFolder }: PeerOptions,
): Promise<Contender> {
  const folder = packageIn((await installPeer(browserless)).path);
  const own = (part: string) => join(tempFolder, name, part);
  for (const part of ['routes', 'data', 'downloads']) await mkdir(own(part), { recursive: true });
  // The other routes need browsers and files that only the images have.
  await symlink(join(folder, 'build', 'routes', 'chromium'), join(own('routes'), 'chromium'));
  const browsers = { PLAYWRIGHT_BROWSERS_PATH: own('browsers') };
  await placeBrowser(tools.headlessShell, { folder, env: { ...process.env, ...browsers } });
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const pid = await startPeer(parts, {
    name,
    command: process.execPath,
    args: [join('build', 'index.js')],
    cwd: folder,
    env: {
      ...browsers,
      HOST: '127.0.0.1',
      PORT: String(port),
      CONCURRENT: String(slots),
      DEBUG: '-*',
      ROUTES: own('routes'),
      DATA_DIR: own('data'),
      DOWNLOAD_DIR: own('downloads'),
      METRICS_JSON_PATH: own('metrics.json'),
    },
    health: `${url}/json/list`,
  });
  return peerContender(name, url, { name: `${name} ${version}`, processes: () => [{ part: name, pid }] });
}

/** Places a link to the headless shell at the path where Playwright would install Chromium: browserless starts only the browser there. */
async function placeBrowser(
  headlessShell: string,
  { folder, env }: { readonly folder: string; readonly env: NodeJS.ProcessEnv },
): Promise<void> {
  const args = ['--print', "require('playwright-core').chromium.executablePath()"];
  const { stdout } = await run(process.execPath, args, { cwd: folder, env, timeout: 30_000 });
  const path = stdout.trim();
  await mkdir(dirname(path), { recursive: true });
  await symlink(headlessShell, path);
}
