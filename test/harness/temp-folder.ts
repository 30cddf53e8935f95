import { mkdir, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';

const prefix = 'webcapture-test-';

/** The folder for whatever this run of tests writes. Those of runs that were killed are removed on the way. */
export async function makeTempFolder(): Promise<string> {
  for (const name of await readdir(tmpdir())) {
    const pid = new RegExp(`^${prefix}(\\d+)$`).exec(name)?.[1];
    if (pid !== undefined && !isRunning(Number(pid))) await removeFolder(join(tmpdir(), name));
  }
  const folder = join(tmpdir(), `${prefix}${process.pid}`);
  await mkdir(folder, { recursive: true });
  return folder;
}

/** A process that was killed a moment ago may still be writing. */
export async function removeFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // One of another user's is there, too.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
