import { mkdir, readdir, readFile, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';

const prefix = 'webcapture-test-';

/** Where Linux keeps files in memory. */
const memoryFolder = '/dev/shm';

/** More than a run of the tests has on disk at any time. */
const minMemoryBytes = 4 * 1024 ** 3;

/** The folder for whatever this run of tests writes. Those of runs that were killed are removed on the way. */
export async function makeTempFolder(): Promise<string> {
  const parent = await parentFolder();
  for (const name of await readdir(parent)) {
    const pid = new RegExp(`^${prefix}(\\d+)$`).exec(name)?.[1];
    if (pid !== undefined && !isRunning(Number(pid))) await removeFolder(join(parent, name));
  }
  const folder = join(parent, `${prefix}${process.pid}`);
  await mkdir(folder, { recursive: true });
  return folder;
}

/**
 * In memory where there is room: a nats-server waits for the disk in every atomic batch, and hundreds of them do so here.
 * What a process has written survives its SIGKILL there as on a disk.
 */
async function parentFolder(): Promise<string> {
  try {
    const mounts = await readFile('/proc/mounts', 'utf8');
    const options =
      mounts
        .split('\n')
        .find((line) => line.split(' ')[1] === memoryFolder)
        ?.split(' ')[3] ?? 'noexec';
    const { bavail, bsize } = await statfs(memoryFolder);
    if (bavail * bsize >= minMemoryBytes && !options.split(',').includes('noexec')) return memoryFolder;
  } catch {
    // Not on Linux.
  }
  return tmpdir();
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
