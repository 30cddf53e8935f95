import { mkdtemp } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import { chromium, type Browser } from 'playwright';
import { readProcessTree, readStart } from './process-tree.ts';
import { deadProxy } from './switches.ts';
import { removeFolder } from './temp-folder.ts';

interface LaunchOptions {
  readonly executablePath: string;
  readonly sandbox: 'on' | 'off';
  readonly switches: readonly string[];
  /** Switches of Playwright's to leave out. */
  readonly withoutSwitches?: readonly string[];
}

/** A browser and the process it is. */
export interface LaunchedBrowser {
  readonly browser: Browser;
  readonly pid: number;
  /** Of its temporary files. */
  readonly folder: string;
  /** Closes it in order, or kills it when that takes too long. Never throws. */
  readonly close: () => Promise<void>;
  /** Ends all of its processes at once. */
  readonly kill: () => void;
}

const launchTimeoutMs = 30_000;
const closeTimeoutMs = 5000;

/** Where a socket of Chromium's may lie: its own part of the path has 45 characters, and the whole may have 107. */
const maxTempPathLength = 62;

/** All that the browser's processes see of the environment: what is secret in ours stays here. */
const environment = (temp: string) => ({
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  HOME: homedir(),
  ...(temp.length > maxTempPathLength ? {} : { TMPDIR: temp }),
});

/**
 * Launches a browser without a page; its temporary files are gone when it is. Its own proxy leads nowhere: traffic leaves
 * through the proxy sessions of its contexts only.
 *
 * @throws Error that says what is missing
 */
export async function launchBrowser(options: LaunchOptions): Promise<LaunchedBrowser> {
  const temp = await mkdtemp(join(tmpdir(), 'b'));
  const browser = await start(options, temp).catch(async (error: unknown) => {
    await removeFolder(temp);
    throw explainLaunchFailure(error, options);
  });
  const removed = new Promise<void>((resolve) => {
    browser.once('disconnected', () => void removeFolder(temp).finally(resolve));
  });
  try {
    const pid = await withDeadline(readPid(browser), launchTimeoutMs, 'asking the browser for its process');
    const root = { pid, startedAt: readStart(pid) };
    const close = async () => {
      await closeBrowser(browser, root);
      await withDeadline(removed, closeTimeoutMs, 'removing the files of a browser').catch(() => undefined);
    };
    return { browser, pid, folder: temp, close, kill: () => killBrowser(browser, root) };
  } catch (error) {
    await browser.close().catch(() => undefined);
    throw new Error(`${options.executablePath} started, but does not answer.`, { cause: error });
  }
}

function start(
  { executablePath, sandbox, switches, withoutSwitches = [] }: LaunchOptions,
  temp: string,
): Promise<Browser> {
  return chromium.launch({
    executablePath,
    chromiumSandbox: sandbox === 'on',
    args: [...switches],
    ignoreDefaultArgs: [...withoutSwitches],
    proxy: { server: deadProxy },
    env: environment(temp),
    timeout: launchTimeoutMs,
    // This process stops its browsers itself, after the captures that run in them.
    handleSIGHUP: false,
    handleSIGINT: false,
    handleSIGTERM: false,
  });
}

async function readPid(browser: Browser): Promise<number> {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send('SystemInfo.getProcessInfo');
  await session.detach();
  const main = processInfo.find(({ type }) => type === 'browser');
  if (main === undefined) throw new Error('the browser names no process of its own');
  return main.id;
}

/** A process, told from the next one that gets its number. `startedAt` is undefined where there is no /proc. */
interface KnownProcess {
  readonly pid: number;
  readonly startedAt: string | undefined;
}

const isThere = ({ pid, startedAt }: KnownProcess) => startedAt !== undefined && readStart(pid) === startedAt;

/** A process and all its descendants; undefined where there is no /proc, none when it is gone. */
function treeOf(root: KnownProcess): readonly KnownProcess[] | undefined {
  const tree = readProcessTree(root.pid)?.map(({ pid }) => ({ pid, startedAt: readStart(pid) }));
  return tree === undefined || isThere(root) ? tree : [];
}

async function closeBrowser(browser: Browser, root: KnownProcess): Promise<void> {
  const processes = treeOf(root) ?? [];
  try {
    await withDeadline(browser.close(), closeTimeoutMs, 'closing the browser');
  } catch {
    killBrowser(browser, root);
  }
  // One that hangs outlives its browser, and nobody would end it.
  for (const one of processes) if (isThere(one)) killProcess(one.pid);
}

function killBrowser(browser: Browser, root: KnownProcess): void {
  const processes = treeOf(root) ?? (browser.isConnected() ? [root] : []);
  for (const { pid } of processes) killProcess(pid);
}

function killProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It ended by itself.
  }
}

/** Puts a failed launch into words that tell an operator what to do. */
function explainLaunchFailure(error: unknown, { executablePath, sandbox }: LaunchOptions): Error {
  const text = error instanceof Error ? error.message : String(error);
  const explained = (message: string) => new Error(message, { cause: error });
  if (/executable doesn't exist|ENOENT/i.test(text)) {
    return explained(`There is no browser at ${executablePath}. Install Chromium, or set its path.`);
  }
  if (/EACCES|permission denied/i.test(text)) return explained(`${executablePath} may not be executed.`);
  if (sandbox === 'on' && /running as root without --no-sandbox/i.test(text)) {
    return explained(
      'Chromium keeps no sandbox for root. Run as another user, or set WEBCAPTURE_CHROMIUM_SANDBOX=off and isolate the process by other means.',
    );
  }
  if (sandbox === 'on' && /sandbox|clone|unshare|namespace|Operation not permitted/i.test(text)) {
    return explained(
      'Chromium cannot set up its sandbox: it needs user namespaces, and a seccomp profile that lets a process without privileges call clone, unshare and chroot. Allow them, or set WEBCAPTURE_CHROMIUM_SANDBOX=off and isolate the process by other means.',
    );
  }
  const missing = /error while loading shared libraries: ([^:\s]+)/.exec(text)?.[1];
  if (missing !== undefined) return explained(`${executablePath} lacks the library ${missing}. Install it.`);
  return explained(`${executablePath} could not be started.`);
}
