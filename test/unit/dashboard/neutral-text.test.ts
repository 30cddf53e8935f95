import { describe, expect, test } from 'vitest';
import { neutralLines, neutralText, truncated } from '../../../services/dashboard/widgets/neutral-text.ts';

describe('a text of a page', () => {
  test('cannot turn the direction of its surroundings, break a line or ring a bell', () => {
    expect(neutralText('safe\u202Egnp.exe\u2066\u200F')).toBe('safe\uFFFDgnp.exe\uFFFD\uFFFD');
    expect(neutralText(' one\r\n\u2028two\u0007\uD800 ')).toBe('one two\uFFFD\uFFFD');
  });

  test('keeps its lines where there is room for them', () => {
    expect(neutralLines(' one\r\n\ttwo\rthree\u2028\u202Erof\u0007')).toBe(' one\n\ttwo\nthree\u2028\uFFFDrof\uFFFD');
  });

  test('keeps what scripts and emoji need', () => {
    for (const text of ['عربي', 'नमस्‍ते', '👩‍👩‍👧', '<b>&amp;']) expect(neutralText(text)).toBe(text);
  });

  test('is cut between code points, and only when it is too long', () => {
    expect(truncated('😀😀😀', 2)).toBe('😀😀…');
    expect(truncated('😀😀😀', 3)).toBe(null);
    expect(truncated('a'.repeat(10_000), 3)).toBe('aaa…');
  });
});
