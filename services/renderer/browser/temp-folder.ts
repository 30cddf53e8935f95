import { createHash } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';

/**
 * Gives this process, and the browsers that it starts, a folder of their own for temporary files: what a killed browser
 * leaves behind (profiles, sockets, shared memory) goes with it. Removes those of processes of this machine that are no
 * more, too: in a container that is started again, that of its former life.
 *
 * @returns removes the folder; never throws
 */
export async function openTempFolder(): Promise<() => Promise<void>> {
  const parent = tmpdir();
  // Processes of several machines or containers may share a disk, and a number says nothing of theirs. Names are short
  // since Chromium keeps a socket in here, whose path may have 107 characters.
  const prefix = `wc-${createHash('sha256').update(hostname()).digest('hex').slice(0, 4)}-`;
  const leftovers = (await readdir(parent)).filter((name) => {
    const pid = name.startsWith(prefix) ? Number(name.slice(prefix.length).split('-')[0]) : Number.NaN;
    return Number.isInteger(pid) && (pid === process.pid || !isRunning(pid));
  });
  await Promise.all(leftovers.map((name) => removeFolder(join(parent, name))));
  // A leftover of the same number that cannot be removed is no hindrance.
  const root = await mkdtemp(join(parent, `${prefix}${process.pid}-`));
  // Playwright puts profiles where the system says that temporary files go, and takes no other place.
  process.env['TMPDIR'] = root;
  return async () => {
    process.env['TMPDIR'] = parent;
    await removeFolder(root);
  };
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

/** Removes a folder with all that is in it, if it can; a process that was killed a moment ago may still be writing. */
export async function removeFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 }).catch(() => undefined);
}
