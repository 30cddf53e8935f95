import { execFile } from 'node:child_process';
import { availableParallelism, cpus, totalmem } from 'node:os';
import process from 'node:process';
import { promisify } from 'node:util';
import packageFile from 'playwright/package.json' with { type: 'json' };
import type { ToolPaths } from '../harness/tools.ts';

const run = promisify(execFile);

/** Describes the machine, the versions and the date in one sentence. */
export async function describeMachine({ headlessShell, natsServer }: ToolPaths, now = new Date()): Promise<string> {
  const version = async (path: string) => /\d+(\.\d+)+/.exec((await run(path, ['--version'])).stdout)?.[0] ?? 'unknown';
  const [chromium, nats] = await Promise.all([version(headlessShell), version(natsServer)]);
  const day = now.toLocaleDateString('en-GB', { day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC' });
  const processor = (cpus()[0]?.model ?? 'unknown processor').replaceAll(/\s+/g, ' ').trim();
  const memory = `${Math.round(totalmem() / 1024 ** 3)} GiB`;
  return `Measured on ${day}, on ${availableParallelism()} cores (${processor}) with ${memory}: Chromium ${chromium}, Playwright ${packageFile.version}, Node.js ${process.versions.node}, nats-server ${nats}.`;
}
