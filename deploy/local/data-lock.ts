import { join } from 'node:path';
import { readFile, writeFile } from 'node:fs/promises';
import { tryFileLock, type Release } from '../tools/file-lock.ts';
import { StartError } from './start-error.ts';

/** Makes this the only start that uses the data folder. Throws a {@link StartError} when there is another one. */
export async function lockDataDir(dataDir: string): Promise<Release> {
  const pidPath = join(dataDir, 'pid');
  const release = await tryFileLock(join(dataDir, 'lock')).catch((error: unknown) => {
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
