/**
 * Invisible characters that change how a text or its surroundings are read: terminal controls, direction controls (CVE-2021-42574), format
 * controls, tag characters, line separators, and unpaired surrogates. Not included are tabs and line feeds, the joiners and soft hyphens
 * that scripts and emoji need, and the Arabic and Syriac signs that Unicode classifies as format.
 */
const unsafe =
  /(?![\t\n\u00ad\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u{e0000}-\u{e007f}]/gu;

/** Replaces each unsafe character of an untrusted text by an empty text, a sign, or its number. */
export const replaceUnsafe = (text: string, by: string | ((character: string) => string)): string =>
  text.replaceAll(unsafe, typeof by === 'string' ? () => by : by);

/** Returns the escape of a character for strings in JSON, JavaScript and Python; the parsed value stays the same. */
export const unicodeEscape = (character: string): string =>
  character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
