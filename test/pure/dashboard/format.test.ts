import { describe, expect, test } from 'vitest';
import {
  formatBytes,
  formatDuration,
  formatRelative,
  formatShare,
  neutralText,
  truncated,
} from '../../../services/dashboard/pages/format.ts';

test.each([
  [0, '0 B'],
  [999, '999 B'],
  [1000, '1 kB'],
  [999_960, '1 MB'],
  [1_234_567, '1.2 MB'],
  [5e15, '5,000 TB'],
])('%d bytes are %s', (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text);
});

test.each([
  [null, '–'],
  [0, '0 ms'],
  [999, '999 ms'],
  [1250, '1.3 s'],
  [60_000, '1 min'],
  [125_000, '2 min 5 s'],
  [3_600_000, '1 h'],
  [90_000_000, '1 d 1 h'],
])('%s ms are %s', (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
});

test('relative times and shares', () => {
  const now = Date.UTC(2026, 5, 2);
  expect(formatRelative('2026-06-01T23:55:00Z', now)).toBe('5 minutes ago');
  expect(formatRelative('2026-06-05T01:00:00Z', now)).toBe('in 3 days');
  expect(formatRelative('2026-06-02T00:00:00Z', now)).toBe('now');
  expect(formatRelative('nonsense', now)).toBe('–');
  expect([formatShare(null), formatShare(0.9876)]).toEqual(['–', '98.8%']);
});

describe('a text of a page', () => {
  test('cannot turn the direction of its surroundings, break a line or ring a bell', () => {
    expect(neutralText('safe\u202Egnp.exe\u2066\u200F')).toBe('safe\uFFFDgnp.exe\uFFFD\uFFFD');
    expect(neutralText(' one\r\n\u2028two\u0007\uD800 ')).toBe('one two\uFFFD\uFFFD');
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
