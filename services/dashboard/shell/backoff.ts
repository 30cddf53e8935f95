/**
 * Milliseconds to wait after a number of failures before the next attempt: 1 s, doubled up to 30 s, minus a random share of up to
 * half, so that pages do not all retry at once after a restart of the front.
 */
export function backoffMs(failures: number): number {
  return Math.min(30_000, 1000 * 2 ** failures) * (0.5 + Math.random() / 2);
}
