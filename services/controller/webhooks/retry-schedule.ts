const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

/** When each try of a notice is due, in milliseconds after the first: eight tries over 24 hours. */
export const tryOffsets = [
  0,
  10 * second,
  minute,
  10 * minute,
  hour,
  4 * hour,
  12 * hour,
  24 * hour,
] as const satisfies readonly number[];

/**
 * When a notice is tried again after `attempts` failed ones; null when that was the last. All times are Unix
 * milliseconds. Tries that come late, because nobody was there to make them, keep half of their distance: else the rest
 * would be spent at once on a receiver that may be down for the same reason.
 */
export function nextAttemptAt(attempts: number, firstAt: number, now: number): number | null {
  const offset = tryOffsets[attempts];
  if (offset === undefined) return null;
  const distance = offset - (tryOffsets[attempts - 1] ?? 0);
  return Math.max(firstAt + offset, now + distance / 2);
}

/** When an attempt was due at the earliest, Unix milliseconds. */
export const attemptDueAt = ({ attempt, firstAt }: { readonly attempt: number; readonly firstAt: number }): number =>
  firstAt + (tryOffsets[attempt - 1] ?? 0);
