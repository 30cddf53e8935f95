import { backoffMs, delay } from '../runtime/deadline.ts';
import type { ExpectedUpload, StoredFile } from './file-store.ts';
import { type ComparableFile, isSamePicture, mayShowSame } from './same-picture.ts';

/**
 * What becomes of a verified upload and the file that is in place under its name: `write` the upload in its place, `keep`
 * the file, or `extend` the file's life, whose bytes stay. `isSame`: of a refresh, whether it shows what the file shows.
 */
export function placementOf(
  present: Pick<StoredFile, 'expiresAt' | 'cacheSeconds'> | null,
  { isRefresh, expiresAt, cacheSeconds }: ExpectedUpload,
  isSame: boolean,
): 'write' | 'keep' | 'extend' {
  if (present === null) return 'write';
  // Of another delivery of the job.
  if (!isRefresh) return 'keep';
  if (!isSame) return 'write';
  return present.expiresAt === expiresAt && present.cacheSeconds === cacheSeconds ? 'keep' : 'extend';
}

/** Whether two files show the same picture, by their bytes. One that cannot be read is of no use: then they do not. */
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

/** How often a file is put in place that others replace, or write and remove, at the same time. */
const maxAttempts = 5;

/**
 * Makes attempts to put a file in place until one succeeds; an attempt that others were quicker than resolves with null.
 *
 * @param isLate whether the time for it is over
 * @throws Error when others are quicker again and again
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
    // Another write may be under way, which the next reading does not show yet.
    await delay(backoffMs(count, 50, 1000), signal);
  }
}
