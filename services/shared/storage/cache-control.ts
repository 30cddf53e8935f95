import type { StoredFile } from './file-store.ts';

/** A year: no cache keeps anything for longer. */
const mostSeconds = 31_536_000;

/**
 * The Cache-Control header of a file that is sent at `now` (Unix ms): copies end with it. One that may be replaced is
 * asked for again after a while, which costs little where it is the same still.
 */
export function cacheControl(
  { expiresAt, cacheSeconds }: Pick<StoredFile, 'expiresAt' | 'cacheSeconds'>,
  now: number,
): string {
  const secondsLeft = Math.max(0, Math.floor((expiresAt - now) / 1000));
  if (cacheSeconds === undefined) return `public, max-age=${Math.min(secondsLeft, mostSeconds)}`;
  return `public, max-age=${Math.min(secondsLeft, cacheSeconds)}, must-revalidate`;
}
