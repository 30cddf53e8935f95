import type { Ajv } from 'ajv';

/** Counts the characters of a string as JSON Schema does: code points, not UTF-16 units. */
export function countCharacters(text: string): number {
  let count = text.length;
  for (let at = 0; at < text.length - 1; at++) {
    if (isHigh(text.charCodeAt(at)) && isLow(text.charCodeAt(at + 1))) {
      count--;
      at++;
    }
  }
  return count;
}

const isHigh = (unit: number) => unit >= 0xd800 && unit < 0xdc00;
const isLow = (unit: number) => unit >= 0xdc00 && unit < 0xe000;

/**
 * Replaces `maxLength` and `minLength` by versions that count characters only if the number of UTF-16 units is not sufficient to decide.
 * The versions of ajv count the characters of all html, which takes as long as the rest of the validation.
 */
export function quickLengths(ajv: Ajv): Ajv {
  const rule = { type: 'string', schemaType: 'number', errors: false } as const;
  ajv.removeKeyword('maxLength').removeKeyword('minLength');
  return ajv
    .addKeyword({
      ...rule,
      keyword: 'maxLength',
      validate: (max: number, text: string) =>
        text.length <= max || (text.length <= 2 * max && countCharacters(text) <= max),
    })
    .addKeyword({
      ...rule,
      keyword: 'minLength',
      validate: (min: number, text: string) =>
        text.length >= 2 * min || (text.length >= min && countCharacters(text) >= min),
    });
}
