import { replaceUnsafe, unicodeEscape } from '@webcapture/shared/api/untrusted-text.ts';

/**
 * Formats JSON for programs, indented or, without `indent`, on one line. Control characters in text of a page are
 * escaped.
 */
export const json = (value: unknown, { indent = 2 } = {}): string =>
  `${replaceUnsafe(JSON.stringify(value, null, indent), unicodeEscape)}\n`;

/** Parses JSON; returns undefined for invalid text. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether a value is a plain object: not null, not an array. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
