/** How numbers, times and texts of captures are shown. Everything here is pure, so that it runs in tests without a browser. */

const numbers = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 });
const percents = new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 1 });
const dateTimes = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const relativeTimes = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' });

/** What stands where there is no value. */
export const none = '–';

export function formatNumber(value: number): string {
  return numbers.format(value);
}

/** @param share 0 to 1, or null when there is nothing to share */
export function formatShare(share: number | null): string {
  return share === null ? none : percents.format(share);
}

/** Decimal units, as in file managers and browsers: 1 MB is 1,000,000 bytes. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let value = bytes;
  let unit = 0;
  while (value >= 999.95 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${numbers.format(value)} ${units[unit]}`;
}

/** @param ms milliseconds, or null when the time was not measured */
export function formatDuration(ms: number | null): string {
  if (ms === null) return none;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${numbers.format(ms / 1000)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return joined([Math.floor(seconds / 60), 'min'], [seconds % 60, 's']);
  const minutes = Math.round(seconds / 60);
  if (minutes < 24 * 60) return joined([Math.floor(minutes / 60), 'h'], [minutes % 60, 'min']);
  const hours = Math.round(minutes / 60);
  return joined([Math.floor(hours / 24), 'd'], [hours % 24, 'h']);
}

function joined(...parts: readonly [number, string][]): string {
  return parts
    .filter(([amount], index) => index === 0 || amount > 0)
    .map(([amount, unit]) => `${amount} ${unit}`)
    .join(' ');
}

/** @param date ISO 8601 */
export function formatDateTime(date: string): string {
  const time = Date.parse(date);
  return Number.isNaN(time) ? none : dateTimes.format(time);
}

const relativeUnits: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
];

/** "5 minutes ago", "in 3 days". */
export function formatRelative(date: string, now: number): string {
  const time = Date.parse(date);
  if (Number.isNaN(time)) return none;
  const distance = time - now;
  const [unit, size] = relativeUnits.find(([, ms]) => Math.abs(distance) >= ms) ?? ['second', 1000];
  return relativeTimes.format(Math.trunc(distance / size), unit);
}

/**
 * A text of a page as one line that cannot change how its surroundings read: controls of direction (CVE-2021-42574), other
 * control characters and line breaks are replaced. Joiners stay, since scripts and emoji need them.
 */
export function neutralText(text: string): string {
  return text
    .replaceAll(/[\t\n\v\f\r\u0085\u2028\u2029]+/g, ' ')
    .replaceAll(/[\p{Cc}\p{Cs}\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069\u{E0000}-\u{E007F}]/gu, '\uFFFD')
    .trim();
}

/** The beginning of a text, at most so many code points and not within one; null when nothing had to go. */
export function truncated(text: string, max: number): string | null {
  if (text.length <= max) return null;
  const points = Array.from(text.slice(0, 2 * max + 1));
  return points.length <= max ? null : `${points.slice(0, max).join('')}…`;
}
