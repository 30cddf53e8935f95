import { join } from 'node:path';
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { tryFileLock, type Release } from '../tools/file-lock.ts';
import { StartError } from './start-error.ts';

/** Locks the data folder for this start. Throws a {@link StartError} if another start uses it. */
export async function lockDataDir(dataDir: string): Promise<Release> {
  const pidPath = join(dataDir, 'pid');
  const lock = async () => {
    await closeToOthers(dataDir);
    return tryFileLock(join(dataDir, 'lock'));
  };
  const release = await lock().catch((error: unknown) => {
    throw new StartError(`the data folder ${dataDir} cannot be used: ${String(error)} (WEBCAPTURE_DATA_DIR)`);
  });
  if (release === undefined) {
    const pid = (await readFile(pidPath, 'utf8').catch(() => '')).trim();
    throw new StartError(
      `webcapture is already running on ${dataDir} (process ${pid || 'unknown'}): ` +
        `stop it, or set WEBCAPTURE_DATA_DIR to another folder`,
    );
  }
  await writeFile(pidPath, `${process.pid}\n`);
  return release;
}

const ours = /^(?:pid|lock(?:-journal)?|demo-key|secrets-key|nats)$/;

/**
 * Denies other users access to the folder. The mode of a folder that also contains other files, such as a home folder, is
 * not changed: secret files in it have restrictive modes.
 */
async function closeToOthers(dataDir: string): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const names = await readdir(dataDir);
  if (names.every((name) => ours.test(name))) await chmod(dataDir, 0o700);
}
