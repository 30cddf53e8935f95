import { expect, test } from 'vitest';
import type { Format } from '@webcapture/shared/api/formats.ts';
import { assertHolds, maxCssHeight } from '../../../services/renderer/page/size-limits.ts';

test('maxCssHeight is the side of the format in CSS pixels', () => {
  expect(maxCssHeight('png', 1)).toBe(100_000);
  expect(maxCssHeight('jpeg', 3)).toBe(21_833);
  expect(maxCssHeight('pdf', 3)).toBe(19_200);
  expect(maxCssHeight('none', 3)).toBe(100_000);
});

test.each<[format: Format, width: number, height: number]>([
  ['png', 4000, 100_000],
  ['png', 100_000, 4000],
  ['jpeg', 100, 65_500],
  ['webp', 16_383, 16_383],
  ['pdf', 19_200, 19_200],
  ['pdf', 100_000, 1],
])('%s holds %i × %i px, or refuses it', (format, width, height) => {
  if (format === 'pdf' && width > 19_200) expect(() => assertHolds(format, width, height)).toThrow('px wide');
  else assertHolds(format, width, height);
});

const pages = 'Use pdf without isFullPage, which has as many pages as it takes';

test.each<[format: Format, width: number, height: number, message: string]>([
  [
    'png',
    20_001,
    20_000,
    'The picture would have 400 megapixels, but the maximum is 400. Use a narrower viewport or a smaller deviceScaleFactor.',
  ],
  ['png', 1, 100_001, `The page is 100001 px tall, and png holds 100000 px. ${pages}, or a smaller deviceScaleFactor.`],
  ['png', 100_001, 1, `The page is 100001 px wide, and png holds 100000 px. ${pages}, or a smaller deviceScaleFactor.`],
  ['jpeg', 1, 65_501, 'The page is 65501 px tall, and jpeg holds 65500 px. Use png, which holds 100000 px.'],
  ['webp', 1, 16_384, 'The page is 16384 px tall, and webp holds 16383 px. Use jpeg, which holds 65500 px.'],
  ['webp', 16_384, 1, 'The page is 16384 px wide, and webp holds 16383 px. Use jpeg, which holds 65500 px.'],
  ['webp', 1, 65_501, 'The page is 65501 px tall, and webp holds 16383 px. Use png, which holds 100000 px.'],
  ['webp', 65_501, 1, 'The page is 65501 px wide, and webp holds 16383 px. Use png, which holds 100000 px.'],
  [
    'webp',
    1,
    100_001,
    `The page is 100001 px tall, and webp holds 16383 px. ${pages}, or a smaller deviceScaleFactor.`,
  ],
  ['pdf', 1, 19_201, 'The page is 19201 px tall, and pdf holds 19200 px. Use jpeg, which holds 65500 px.'],
  ['pdf', 20_000, 20_001, `The page is 20001 px tall, and pdf holds 19200 px. ${pages}.`],
  ['pdf', 20_000, 20_000, 'The page is 20000 px tall, and pdf holds 19200 px. Use jpeg, which holds 65500 px.'],
])('%s refuses %i × %i px', (format, width, height, message) => {
  expect(() => assertHolds(format, width, height)).toThrow(
    expect.objectContaining({ code: 'PAGE_TOO_LARGE', message }),
  );
});
