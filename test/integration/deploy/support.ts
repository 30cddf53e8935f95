import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';
import { commandOf } from '../../../deploy/local/command-of.ts';

/** Creates a folder that is removed at the end of the test. */
export async function tempDir(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'webcapture-test-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

/** Options of `expect.poll` for a condition that takes long. */
export const patient = { timeout: 30_000, interval: 30 };

export interface LivingProcess {
  readonly pid: number;
  readonly command: string;
}

/** Returns all living processes (no zombies) whose command line contains `token`. */
export async function processesNaming(token: string): Promise<readonly LivingProcess[]> {
  return (await livingProcesses()).filter(({ command }) => command.includes(token));
}

async function livingProcesses(): Promise<readonly LivingProcess[]> {
  if (process.platform !== 'linux') {
    const { stdout } = await promisify(execFile)('ps', ['-A', '-ww', '-o', 'pid=,command='], { maxBuffer: 1e8 });
    return stdout.split('\n').map((line) => ({ pid: Number.parseInt(line, 10), command: line }));
  }
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  return Promise.all(pids.map(async (pid) => ({ pid: Number(pid), command: await commandOf(Number(pid)) })));
}
