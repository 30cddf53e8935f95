/**
 * Characters that cannot be seen but change how a text, or what stands around it, is read: controls of terminals, of direction
 * (CVE-2021-42574) and of format, tag characters, line separators, and halves of characters. Tabs and line feeds are not among them, nor the
 * joiners and soft hyphens that scripts and emoji need, nor the signs of Arabic and Syriac that Unicode calls format.
 */
const unsafe =
  /(?![\t\n\u00ad\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u{e0000}-\u{e007f}]/gu;

/** A text that somebody else wrote, with something in place of each character that is unsafe to show: nothing, a sign, or its number. */
export const replaceUnsafe = (text: string, by: string | ((character: string) => string)): string =>
  text.replaceAll(unsafe, typeof by === 'string' ? () => by : by);

/** A character as JSON, JavaScript and Python may have it in a string: what is parsed stays the same. */
export const unicodeEscape = (character: string): string =>
  character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
