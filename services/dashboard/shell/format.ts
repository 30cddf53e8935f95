const integers = new Intl.NumberFormat('en');
const percents = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 1 });
const dates = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'medium' });
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });

/** Formats a number as 12,345. */
export function formatNumber(value: number): string {
  return integers.format(value);
}

/** Formats a share from 0 to 1 as 12.3%. Returns – if there is no total. */
export function formatShare(share: number | null): string {
  return share === null ? '–' : percents.format(share);
}

/** Formats bytes as 1.4 MB, in powers of 1000, as file managers do. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit] ?? ''}`;
}

/** Formats milliseconds as 850 ms, 1.2 s or 3 min 5 s. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

/** Formats a time in the time zone of the browser. `time` is ISO 8601 or Unix milliseconds. */
export function formatTime(time: string | number): string {
  return dates.format(new Date(time));
}

const daySeconds = 86_400;
const monthSeconds = 30.4 * daySeconds;
const yearSeconds = 365 * daySeconds;

/** Formats a time as 3 minutes ago, in 2 days or in 10 years. */
export function formatAgo(time: string | number, now = Date.now()): string {
  const seconds = (new Date(time).getTime() - now) / 1000;
  const size = Math.abs(seconds);
  if (size < 60) return relative.format(Math.round(seconds), 'second');
  if (size < 3600) return relative.format(Math.round(seconds / 60), 'minute');
  if (size < daySeconds) return relative.format(Math.round(seconds / 3600), 'hour');
  if (size < 2 * monthSeconds) return relative.format(Math.round(seconds / daySeconds), 'day');
  if (size < 2 * yearSeconds) return relative.format(Math.round(seconds / monthSeconds), 'month');
  return relative.format(Math.round(seconds / yearSeconds), 'year');
}

/** Quotes a word for a POSIX shell. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
