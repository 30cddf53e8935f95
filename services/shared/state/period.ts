/** `yyyymm` in UTC. */
export function monthOf(time: number): string {
  return new Date(time).toISOString().slice(0, 7).replace('-', '');
}

/** The first instants of the month in UTC that `time` lies in, and of the next one; Unix milliseconds. */
export function periodOf(time: number): { readonly start: number; readonly end: number } {
  const date = new Date(time);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  return { start: Date.UTC(year, month), end: Date.UTC(year, month + 1) };
}
