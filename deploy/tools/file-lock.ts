import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';

export type Release = () => void;

/**
 * Takes a lock that excludes other processes, or returns undefined if another process has it. It is the lock of an
 * SQLite database, so the kernel releases it as soon as its owner exits for any reason.
 */
export async function tryFileLock(path: string): Promise<Release | undefined> {
  await mkdir(dirname(path), { recursive: true });
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    database.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if (isBusy(error)) return undefined;
    throw error;
  }
  return () => database.close();
}

/** Waits for the lock, runs `work`, and releases the lock. `onWait` is called once if another process has it. */
export async function withFileLock<T>(
  path: string,
  options: { readonly onWait: () => void; readonly signal: AbortSignal },
  work: () => Promise<T>,
): Promise<T> {
  let release = await tryFileLock(path);
  if (release === undefined) options.onWait();
  while (release === undefined) {
    await sleep(100, undefined, { signal: options.signal });
    release = await tryFileLock(path);
  }
  try {
    return await work();
  } finally {
    release();
  }
}

function isBusy(error: unknown): boolean {
  // SQLITE_BUSY
  return error instanceof Error && 'errcode' in error && error.errcode === 5;
}
