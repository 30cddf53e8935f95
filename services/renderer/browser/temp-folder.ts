import { createHash } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';

/**
 * Creates a folder for the temporary files of this process and of its browsers, and removes the folders of processes of this machine that
 * have ended. Files of killed browsers (profiles, sockets, shared memory) are removed with their folder. A restarted container removes the
 * folder of its previous run.
 *
 * @returns a function that removes the folder; it never throws
 */
export async function openTempFolder(): Promise<() => Promise<void>> {
  const parent = tmpdir();
  // Several machines or containers may share a disk, so a process number is not sufficient. Names are short, because Chromium creates a
  // socket in the folder and the path of a socket may have at most 107 characters.
  const prefix = `wc-${createHash('sha256').update(hostname()).digest('hex').slice(0, 4)}-`;
  const leftovers = (await readdir(parent)).filter((name) => {
    const pid = name.startsWith(prefix) ? Number(name.slice(prefix.length).split('-')[0]) : Number.NaN;
    return Number.isInteger(pid) && (pid === process.pid || !isRunning(pid));
  });
  await Promise.all(leftovers.map((name) => removeFolder(join(parent, name))));
  // mkdtemp adds a random suffix, so a leftover folder with the same number that cannot be removed causes no conflict.
  const root = await mkdtemp(join(parent, `${prefix}${process.pid}-`));
  // Playwright creates profiles in the temporary folder of the system and has no option for another one.
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
    // A process of another user causes an error, but exists.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Removes a folder with its contents. A failure is ignored, because a process that was just killed may still be writing. */
export async function removeFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 }).catch(() => undefined);
}
