import { expect } from 'vitest';
import { html } from '../harness/engine.ts';
import { testCorpus, type HardPage } from './corpus.ts';
import { row, rowsOf } from './rows.ts';

type Check = NonNullable<HardPage['check']>;

/** A PDF of one page with the height of the content. */
function onePage(
  name: string,
  body: string,
  check: Check,
  pdf: NonNullable<HardPage['options']>['pdf'] = {},
): HardPage {
  return {
    name,
    site: { '/': body },
    formats: ['pdf'],
    options: { isFullPage: true, pdf },
    check: async (seen) => {
      expect(seen.pdf?.pages).toHaveLength(1);
      expect(seen.report.truncated).toBe(false);
      await check(seen);
    },
  };
}

/** Positions of texts on the page, in CSS pixels from its top. */
const topsOf = ({ pdf }: Parameters<Check>[0], ...texts: string[]) =>
  texts.map((text) => ((pdf?.pages[0]?.pieces.find((piece) => piece.text === text)?.y ?? Number.NaN) / 72) * 96);

const tall = (height: number) => html(`<div style="height:${height}px;background:#00ff00">begin</div>`);

const pages: readonly HardPage[] = [
  onePage('shorter than the viewport', tall(300), (seen) => {
    seen.expectSize(640, 300);
    seen.expectColumn(320, [
      [150, '#00ff00'],
      [290, '#00ff00'],
    ]);
  }),
  onePage('of many rows, with their backgrounds', html(rowsOf(50)), (seen) => {
    seen.expectSize(640, 5000);
    seen.expectColumn(320, [row(0), row(1), row(25), row(48)]);
  }),
  onePage('taller than any paper', tall(12_345), (seen) => {
    seen.expectSize(640, 12_345);
    seen.expectColumn(320, [[12_330, '#00ff00']]);
  }),
  onePage('of the maximum height', tall(19_200), (seen) => {
    expect(seen.rendering.height).toBe(19_200);
    seen.expectColumn(320, [[19_190, '#00ff00']]);
  }),
  {
    ...onePage('one pixel above the maximum height', tall(19_201), () => {}),
    fails: { code: 'PAGE_TOO_LARGE', message: /png|jpeg/ },
  },
  onePage(
    'with @page rules for another paper',
    html(rowsOf(20), '<style>@page { size: A5 landscape; margin: 3cm }</style>'),
    (seen) => {
      seen.expectSize(640, 2000);
      seen.expectColumn(320, [row(0), row(19)]);
    },
  ),
  onePage(
    'with rules for page breaks',
    html('<h1 style="break-after:page">one</h1><h1 style="break-before:page">two</h1><p style="page:other">three</p>'),
    (seen) => {
      const [one = 0, two = 0, three = 0] = topsOf(seen, 'one', 'two', 'three');
      expect(two).toBeGreaterThan(one);
      expect(three).toBeGreaterThan(two);
    },
  ),
  onePage(
    'with margins and scale',
    tall(2000),
    (seen) => {
      expect(seen.rendering.width).toBe(640);
      expect(Math.abs(seen.rendering.height - (1000 + (20 / 25.4) * 96))).toBeLessThan(12);
      expect(((seen.pdf?.pages[0]?.pieces[0]?.x ?? 0) / 72) * 25.4).toBeCloseTo(10, 0);
    },
    { scale: 0.5, margin: { top: 10, right: 10, bottom: 10, left: 10 } },
  ),
  onePage(
    'with parts as tall as the viewport, and wider than it',
    html(
      '<style>section{height:100vh}</style><section>begin</section><section>middle</section><div style="width:2000px">end</div>',
    ),
    (seen) => {
      const [begin = 0, middle = 0, end = 0] = topsOf(seen, 'begin', 'middle', 'end');
      expect(middle - begin).toBeCloseTo(end - middle, -1);
      expect(seen.rendering.height - end).toBeGreaterThanOrEqual(0);
      expect(seen.rendering.height - end).toBeLessThan(40);
    },
  ),
];

testCorpus(pages);
