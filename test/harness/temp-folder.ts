import { mkdir, readdir, readFile, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';

const prefix = 'webcapture-test-';

/** The in-memory file system of Linux. */
const memoryFolder = '/dev/shm';

/** More than a test run ever has on disk. */
const minMemoryBytes = 4 * 1024 ** 3;

/** Returns the folder for all files of this test run. Removes the folders of killed runs. */
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
 * The folder is in memory if there is space, because a nats-server waits for the disk in every atomic batch, and the tests write
 * hundreds of them. Data that a process has written survives its SIGKILL there as on a disk.
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
    // This system is not Linux.
  }
  return tmpdir();
}

/** A process that was just killed may still be writing. */
export async function removeFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Folders of other users are there, too.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
