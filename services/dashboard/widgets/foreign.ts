const controls = /[\p{Cc}\p{Cs}\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069\u{E0000}-\u{E007F}]/gu;

/**
 * A text of a page as one line that cannot change how its surroundings read: controls of direction (CVE-2021-42574), other
 * control characters and line breaks are replaced. Joiners stay, since scripts and emoji need them.
 */
export function neutralText(text: string): string {
  return text
    .replaceAll(/[\t\n\v\f\r\u0085\u2028\u2029]+/g, ' ')
    .replaceAll(controls, '\uFFFD')
    .trim();
}

/** The same for a text of several lines, which keeps them and its tabs. */
export function neutralLines(text: string): string {
  return text
    .replaceAll(/\r\n?/g, '\n')
    .replaceAll(controls, (control) => (/[\n\t]/.test(control) ? control : '\uFFFD'));
}

/** The beginning of a text, at most so many code points and not within one; null when nothing had to go. */
export function truncated(text: string, max: number): string | null {
  if (text.length <= max) return null;
  const points = Array.from(text.slice(0, 2 * max + 1));
  return points.length <= max ? null : `${points.slice(0, max).join('')}…`;
}
