import { replaceUnsafe, unicodeEscape } from '@webcapture/shared/api/untrusted-text.ts';

/** What programs read, on lines or, without `indent`, on one. No text of a page in it acts on a terminal. */
export const json = (value: unknown, { indent = 2 } = {}): string =>
  `${replaceUnsafe(JSON.stringify(value, null, indent), unicodeEscape)}\n`;

/** The value of a JSON text; undefined for text that is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A plain object: not null, not an array. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
