/**
 * Milliseconds to wait after so many failures before the next attempt: 1 s, doubled up to 30 s, less up to half of it by
 * chance, so that a restarted front is not asked by all pages at once.
 */
export function backoffMs(failures: number): number {
  return Math.min(30_000, 1000 * 2 ** failures) * (0.5 + Math.random() / 2);
}
