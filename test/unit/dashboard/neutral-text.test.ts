import { describe, expect, test } from 'vitest';
import { neutralLines, neutralText, truncated } from '../../../services/dashboard/widgets/neutral-text.ts';

describe('text of a captured page', () => {
  test('loses bidi characters, line breaks and control characters', () => {
    expect(neutralText('safe\u202Egnp.exe\u2066\u200F')).toBe('safe\uFFFDgnp.exe\uFFFD\uFFFD');
    expect(neutralText(' one\r\n\u2028two\u0007\uD800 ')).toBe('one two\uFFFD\uFFFD');
  });

  test('keeps its line breaks in neutralLines', () => {
    expect(neutralLines(' one\r\n\ttwo\rthree\u2028\u202Erof\u0007')).toBe(' one\n\ttwo\nthree\u2028\uFFFDrof\uFFFD');
  });

  test('keeps the joiners of scripts and emoji', () => {
    for (const text of ['عربي', 'नमस्‍ते', '👩‍👩‍👧', '<b>&amp;']) expect(neutralText(text)).toBe(text);
  });

  test('is truncated between code points, and only when it is too long', () => {
    expect(truncated('😀😀😀', 2)).toBe('😀😀…');
    expect(truncated('😀😀😀', 3)).toBe(null);
    expect(truncated('a'.repeat(10_000), 3)).toBe('aaa…');
  });
});
