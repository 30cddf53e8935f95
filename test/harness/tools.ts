import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { compileFilters } from '../../deploy/filters/compile.ts';
import { ensureDashboard } from '../../deploy/dashboard/ensure-dashboard.ts';
import { chooseSandbox } from '../../deploy/local/chromium-sandbox.ts';
import { cacheDirOf } from '../../deploy/tools/cache-dir.ts';
import { ensureTool } from '../../deploy/tools/ensure-tool.ts';

/** Paths of the programs of a fleet. */
export interface ToolPaths {
  readonly natsServer: string;
  readonly headlessShell: string;
  readonly chromium: string;
  /** Whether Chromium's own sandbox works on this machine. */
  readonly sandbox: 'on' | 'off';
  /** Folder of compiled filter lists: the project's own and those of the tests, equal on every machine. */
  readonly filters: string;
}

let found: Promise<ToolPaths> | undefined;

/**
 * Finds or installs the real programs that the tests run. Does so once per process, because every project of tests calls it. Throws a
 * ToolError with instructions for a manual installation.
 */
export function ensureTestTools(log: (line: string) => void): Promise<ToolPaths> {
  found ??= findTestTools(log);
  return found;
}

async function findTestTools(log: (line: string) => void): Promise<ToolPaths> {
  const path = async (name: string) => (await ensureTool(name, { log })).path;
  // The steps are sequential, because parallel package managers would only wait for each other's lock.
  const natsServer = await path('nats-server');
  const headlessShell = await path('chromium-headless-shell');
  const chromium = await path('chromium');
  await path('fonts');
  await ensureDashboard({ log });
  const filters = await compileFilters({
    outDir: join(cacheDirOf(process.env), 'test-filters'),
    listsDir: fileURLToPath(new URL('filter-lists', import.meta.url)),
    log,
  });
  return { natsServer, headlessShell, chromium, sandbox: await sandboxOf(headlessShell), filters: filters.path };
}

async function sandboxOf(browser: string): Promise<'on' | 'off'> {
  const chosen = process.env['WEBCAPTURE_CHROMIUM_SANDBOX'];
  if (chosen === 'on' || chosen === 'off') return chosen;
  return (await chooseSandbox(browser, AbortSignal.timeout(60_000))).sandbox;
}
