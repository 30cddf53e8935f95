/**
 * Returns the milliseconds to wait after a number of failures before the next attempt. The time is 1 s, doubled with each failure up to 30
 * s, minus a random share of up to half. Because of the random share, pages do not all retry at the same time after a restart of the front.
 */
export function backoffMs(failures: number): number {
  return Math.min(30_000, 1000 * 2 ** failures) * (0.5 + Math.random() / 2);
}
