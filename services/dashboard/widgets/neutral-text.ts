import { replaceUnsafe } from '@webcapture/shared/api/untrusted-text.ts';

/** A text of a page as one line that cannot change how its surroundings read: what could is shown as U+FFFD, and a line break as a space. */
export function neutralText(text: string): string {
  return replaceUnsafe(text.replaceAll(/[\t\n\v\f\r\u0085\u2028\u2029]+/g, ' '), '\uFFFD').trim();
}

/** The same for a text of several lines, which keeps them and its tabs. */
export function neutralLines(text: string): string {
  const isBreak = /[\u2028\u2029]/;
  return replaceUnsafe(text.replaceAll(/\r\n?/g, '\n'), (character) =>
    isBreak.test(character) ? character : '\uFFFD',
  );
}

/** The beginning of a text, at most so many code points and not within one; null when nothing had to go. */
export function truncated(text: string, max: number): string | null {
  if (text.length <= max) return null;
  const points = Array.from(text.slice(0, 2 * max + 1));
  return points.length <= max ? null : `${points.slice(0, max).join('')}…`;
}
