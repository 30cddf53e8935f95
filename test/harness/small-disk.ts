import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** A separate file system in memory. */
export interface SmallDisk extends AsyncDisposable {
  readonly folder: string;
  /** Fills the file system except for the given number of bytes. */
  fill(leftBytes?: number): Promise<void>;
  /** Frees the space that `fill` took. */
  free(): Promise<void>;
}

/** Mounts a tmpfs of the given size in MiB at `folder`. Returns the reason if that is not possible; it needs root and Linux. */
export async function mountSmallDisk(folder: string, mebibytes: number): Promise<SmallDisk | string> {
  await mkdir(folder, { recursive: true });
  const run = promisify(execFile);
  try {
    await run('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'tmpfs', folder]);
  } catch (error) {
    return `a tmpfs cannot be mounted here: ${(error as Error).message.trim()}`;
  }
  const filling = join(folder, 'filling');
  return {
    folder,
    fill: async (leftBytes = 0) => {
      const file = await open(filling, constants.O_CREAT | constants.O_WRONLY | constants.O_APPEND);
      try {
        // This write fills the last blocks too.
        for (const size of [1024 ** 2, 512]) await writeUntilFull(() => file.write(Buffer.alloc(size)));
        if (leftBytes > 0) await file.truncate((await file.stat()).size - leftBytes);
      } finally {
        await file.close();
      }
    },
    free: () => rm(filling, { force: true }),
    // A lazy unmount succeeds even if a process still has a file open.
    [Symbol.asyncDispose]: async () => void (await run('umount', ['--lazy', folder])),
  };
}

async function writeUntilFull(write: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await write();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return;
      throw error;
    }
  }
}
