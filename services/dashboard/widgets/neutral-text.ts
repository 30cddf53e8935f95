import { replaceUnsafe } from '@webcapture/shared/api/untrusted-text.ts';

/**
 * Returns a text of a page as one line that cannot affect the text around it. Harmful characters become U+FFFD, and line breaks become
 * spaces.
 */
export function neutralText(text: string): string {
  return replaceUnsafe(text.replaceAll(/[\t\n\v\f\r\u0085\u2028\u2029]+/g, ' '), '\uFFFD').trim();
}

/** Like neutralText, but keeps line breaks and tabs, for a text of several lines. */
export function neutralLines(text: string): string {
  const isBreak = /[\u2028\u2029]/;
  return replaceUnsafe(text.replaceAll(/\r\n?/g, '\n'), (character) =>
    isBreak.test(character) ? character : '\uFFFD',
  );
}

/** Returns the first `max` code points of a text, with an ellipsis; null if the text is not longer. */
export function truncated(text: string, max: number): string | null {
  if (text.length <= max) return null;
  const points = Array.from(text.slice(0, 2 * max + 1));
  return points.length <= max ? null : `${points.slice(0, max).join('')}…`;
}
