import { join } from 'node:path';
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { tryFileLock, type Release } from '../tools/file-lock.ts';
import { StartError } from './start-error.ts';

/** Makes this the only start that uses the data folder. Throws a {@link StartError} when there is another one. */
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
 * Lets no other user of the machine look into the folder. One that also keeps other things, such as a home folder, stays as
 * it is: what is secret in it is closed by itself.
 */
async function closeToOthers(dataDir: string): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const names = await readdir(dataDir);
  if (names.every((name) => ours.test(name))) await chmod(dataDir, 0o700);
}
