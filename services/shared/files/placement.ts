import { backoffMs, delay } from '../runtime/deadline.ts';
import type { ExpectedUpload, StoredFile } from './file-store.ts';
import { type ComparableFile, isSamePicture, mayShowSame } from './same-picture.ts';

/**
 * Decides on a verified upload and the file in place under its name: `write` the upload in its place, `keep` the file, or
 * `extend` the life of the file with its bytes. `isSame`: for a refresh, whether it shows the same as the file.
 */
export function placementOf(
  present: Pick<StoredFile, 'expiresAt' | 'cacheSeconds'> | null,
  { isRefresh, expiresAt, cacheSeconds }: ExpectedUpload,
  isSame: boolean,
): 'write' | 'keep' | 'extend' {
  if (present === null) return 'write';
  // The file in place belongs to another delivery of the job.
  if (!isRefresh) return 'keep';
  if (!isSame) return 'write';
  return present.expiresAt === expiresAt && present.cacheSeconds === cacheSeconds ? 'keep' : 'extend';
}

/** Whether two files show the same picture, by their content. False if one of them cannot be read. */
export async function showSame(
  a: ComparableFile,
  b: ComparableFile,
  readA: () => Promise<Buffer>,
  readB: () => Promise<Buffer>,
): Promise<boolean> {
  if (!mayShowSame(a, b)) return false;
  const [first, second] = await Promise.all([readA().catch(() => null), readB().catch(() => null)]);
  return first !== null && second !== null && (await isSamePicture(a.contentType, first, second));
}

/** Maximum number of attempts to place a file that others replace or remove at the same time. */
const maxAttempts = 5;

/**
 * Makes attempts to place a file until one succeeds. An attempt resolves to null if another process was faster.
 *
 * @param isLate whether the deadline has passed
 * @throws Error if other processes are faster repeatedly
 */
export async function untilPlaced<T>(
  attempt: () => Promise<T | null>,
  isLate: () => boolean,
  signal?: AbortSignal,
): Promise<T> {
  for (let count = 1; ; count++) {
    const placed = await attempt();
    if (placed !== null) return placed;
    if (count === maxAttempts || isLate()) throw new Error('others wrote and removed the file again and again');
    // Another write may be in progress that the next read does not show yet.
    await delay(backoffMs(count, 50, 1000), signal);
  }
}
