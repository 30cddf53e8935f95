import { readdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { runCommand } from '../run-command.ts';
import type { Strategy, ToolContext } from '../tool.ts';

export interface PlaywrightBrowser {
  /** Name in Playwright. */
  readonly name: string;
  /** Possible names of the program on all platforms. */
  readonly programs: readonly string[];
  /** Additional arguments of `install`. */
  readonly args: readonly string[];
}

const downloadTimeoutMs = 5 * 60_000;

/** Finds the browser in the folder of the installed version of Playwright. */
export function findInPlaywright(browser: PlaywrightBrowser): Strategy {
  return {
    title: "Playwright's cache",
    candidates: async (_tool, context) => {
      const folder = await installLocation(browser, context);
      const names = await readdir(folder, { recursive: true }).catch((): string[] => []);
      // Playwright writes this file last.
      if (!names.includes('INSTALLATION_COMPLETE')) throw new Error(`nothing in ${folder}`);
      return names.filter((name) => browser.programs.includes(baseName(name))).map((name) => join(folder, name));
    },
  };
}

/** Downloads the browser with Playwright. */
export function downloadByPlaywright(browser: PlaywrightBrowser): Strategy {
  return {
    title: `Playwright's download of ${browser.name}`,
    candidates: async (tool, context) => {
      context.log('downloading it with Playwright');
      await playwright(['install', ...browser.args, browser.name], downloadTimeoutMs, context);
      return findInPlaywright(browser).candidates(tool, context);
    },
  };
}

async function installLocation(browser: PlaywrightBrowser, context: ToolContext): Promise<string> {
  const plan = await playwright(['install', '--dry-run', ...browser.args, browser.name], 30_000, context);
  const part = plan.slice(plan.indexOf(`(playwright ${browser.name} v`));
  const folder = /Install location:\s+(.+)/.exec(part)?.[1]?.trim();
  if (folder === undefined) throw new Error(`Playwright does not know ${browser.name} on this platform`);
  return folder;
}

async function playwright(args: readonly string[], timeoutMs: number, context: ToolContext): Promise<string> {
  const cli = join(dirname(createRequire(import.meta.url).resolve('playwright/package.json')), 'cli.js');
  return runCommand(process.execPath, [cli, ...args], {
    env: { PLAYWRIGHT_DOWNLOAD_CONNECTION_TIMEOUT: '20000', ...context.env },
    timeoutMs,
    signal: context.signal,
  });
}

function baseName(path: string): string {
  return path.split(/[\\/]/).at(-1) ?? path;
}
