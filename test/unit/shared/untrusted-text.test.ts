import { expect, test } from 'vitest';
import { replaceUnsafe } from '@webcapture/shared/api/untrusted-text.ts';

test.each([
  ['terminal control characters', '\u0000\u0007\r\u001b\u007f\u009b'],
  ['bidi control characters', '\u061c\u200e\u200f\u202a\u202e\u2066\u2069'],
  ['characters of zero width', '\u200b\u2060\ufeff'],
  ['line separators', '\u2028\u2029'],
  ['tag characters', '\u{e0001}\u{e0020}\u{e007f}'],
  ['lone surrogates', '\udc00\ud83d'],
])('%s are replaced', (_, characters) => {
  expect(replaceUnsafe(`a${characters}$&`, '')).toBe('a$&');
});

test('the joiners of scripts and emoji are kept', () => {
  const text = 'a\tb\n عربي ؀ नमस्‍ते 👩‍👩‍👧 ❤️ 葛\u{e0100} co\u00adop';
  expect(replaceUnsafe(text, '')).toBe(text);
});
