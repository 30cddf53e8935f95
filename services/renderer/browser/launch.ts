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
  /** Switches of Playwright that are omitted. */
  readonly withoutSwitches?: readonly string[];
  /** Home folder with the certificate store; by default that of this process. */
  readonly home?: string | undefined;
}

/** A browser and its process. */
export interface LaunchedBrowser {
  readonly browser: Browser;
  readonly pid: number;
  /** The folder of its temporary files. */
  readonly folder: string;
  /** Closes the browser in order. If that times out, kills it. Never throws. */
  readonly close: () => Promise<void>;
  /** Kills all processes of the browser immediately. */
  readonly kill: () => void;
}

const launchTimeoutMs = 30_000;
const closeTimeoutMs = 5000;

/**
 * Maximum length of the path of a folder for Chromium's sockets. Chromium appends 45 characters, and a socket path may have at most 107.
 */
const maxTempPathLength = 62;

/** The environment of the browser's processes. It excludes the secrets in this process's environment. */
const environment = (temp: string, home = homedir()) => ({
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  HOME: home,
  ...(temp.length > maxTempPathLength ? {} : { TMPDIR: temp }),
});

/**
 * Launches a browser without a page; its temporary files are removed with it. The default proxy of the browser does not exist, so traffic
 * leaves only through the proxy sessions of its contexts.
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
  { executablePath, sandbox, switches, withoutSwitches = [], home }: LaunchOptions,
  temp: string,
): Promise<Browser> {
  return chromium.launch({
    executablePath,
    chromiumSandbox: sandbox === 'on',
    args: [...switches],
    ignoreDefaultArgs: [...withoutSwitches],
    proxy: { server: deadProxy },
    env: environment(temp, home),
    timeout: launchTimeoutMs,
    // Playwright must not handle signals, because this process stops its browsers itself, after their captures.
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
  if (main === undefined) throw new Error('the browser did not report its main process');
  return main.id;
}

/** A process, identified by its number and its start, because Linux reuses numbers. `startedAt` is undefined without /proc. */
interface KnownProcess {
  readonly pid: number;
  readonly startedAt: string | undefined;
}

const isThere = ({ pid, startedAt }: KnownProcess) => startedAt !== undefined && readStart(pid) === startedAt;

/** Returns a process and all its descendants; undefined without /proc, empty if the process has ended. */
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
  // A hanging process can outlive its browser. Nothing else ends such a process.
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
    // The process has already ended.
  }
}

/** Explains a failed launch so that an operator can fix it. */
function explainLaunchFailure(error: unknown, { executablePath, sandbox }: LaunchOptions): Error {
  const text = error instanceof Error ? error.message : String(error);
  const explained = (message: string) => new Error(message, { cause: error });
  if (/executable doesn't exist|ENOENT/i.test(text)) {
    return explained(`There is no browser at ${executablePath}. Install Chromium, or set its path.`);
  }
  if (/EACCES|permission denied/i.test(text)) return explained(`${executablePath} may not be executed.`);
  if (sandbox === 'on' && /running as root without --no-sandbox/i.test(text)) {
    return explained(
      'Chromium has no sandbox for root. Run as another user, or set WEBCAPTURE_CHROMIUM_SANDBOX=off and isolate the process by other means.',
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
