import { rm } from 'node:fs/promises';

/** Removes a folder with all that is in it, if it can; a process that was killed a moment ago may still be writing. */
export async function removeFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 }).catch(() => undefined);
}
