import { mkdtemp } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { withDeadline } from '@webcapture/shared/lifecycle/deadline.ts';
import { chromium, type Browser } from 'playwright-core';
import { deadProxy } from '../egress/chromium-switches.ts';
import { explainLaunchFailure } from './launch-failure.ts';
import { readProcessTree, readStart } from './process-tree.ts';
import { removeFolder } from './remove-folder.ts';

export interface LaunchOptions {
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
  /** Closes it in order, or kills it when that takes too long. Never throws. */
  readonly close: () => Promise<void>;
  /** Ends all of its processes at once. */
  readonly kill: () => void;
}

const launchDeadlineMs = 30_000;
const closeDeadlineMs = 5000;

/** Where a socket of Chromium's may lie: its own part of the path has 45 characters, and the whole may have 107. */
const longestTempPath = 62;

/** All that the browser's processes see of the environment: what is secret in ours stays here. */
const environment = (temp: string) => ({
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  HOME: homedir(),
  ...(temp.length > longestTempPath ? {} : { TMPDIR: temp }),
});

/**
 * Launches a browser without a page; its temporary files are gone when it is. Its own proxy leads nowhere: traffic leaves
 * through the lanes of its contexts only.
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
    const pid = await withDeadline(readPid(browser), launchDeadlineMs, 'asking the browser for its process');
    const root = { pid, startedAt: readStart(pid) };
    const close = async () => {
      await closeBrowser(browser, root);
      await withDeadline(removed, closeDeadlineMs, 'removing the files of a browser').catch(() => undefined);
    };
    return { browser, pid, close, kill: () => killBrowser(browser, root) };
  } catch (error) {
    await browser.close().catch(() => undefined);
    throw new Error(`${options.executablePath} started, but does not answer.`, { cause: error });
  }
}

function start(options: LaunchOptions, temp: string): Promise<Browser> {
  return chromium.launch({
    executablePath: options.executablePath,
    chromiumSandbox: options.sandbox === 'on',
    args: [...options.switches],
    ignoreDefaultArgs: [...(options.withoutSwitches ?? [])],
    proxy: { server: deadProxy },
    env: environment(temp),
    timeout: launchDeadlineMs,
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
    await withDeadline(browser.close(), closeDeadlineMs, 'closing the browser');
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
