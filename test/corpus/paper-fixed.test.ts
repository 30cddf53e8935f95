import { expect, test } from 'vitest';
import { html, type ShotOptions } from '../harness/engine.ts';
import { readPdf } from '../harness/pdf.ts';
import { rasterPage } from '../harness/pdf-raster.ts';
import { corpusEngine, testCorpus, type HardPage, type Seen } from './corpus.ts';

const rows = Array.from({ length: 60 }, (_, row) => `<p style="height:40px;margin:0">Row${row}</p>`).join('');
const letter = html(
  `<div class="mark">DRAFT</div><div class="foot">ACME</div>${rows}`,
  `<style>.mark { position: fixed; top: 45%; left: 0; right: 0; transform: rotate(-30deg); text-align: center }
   .foot { position: fixed; bottom: 0; left: 0; right: 0; transition: all 9s }</style>`,
);

const pagesOf = ({ pdf }: Seen) => pdf?.pages ?? [];
/** Returns the numbers of the pages that contain a text. */
const pagesWith = (seen: Seen, text: string) => pagesOf(seen).map((page) => page.text.includes(text));
const onAll = [true, true, true];

function onPaper(
  name: string,
  site: HardPage['site'] | string,
  check: NonNullable<HardPage['check']>,
  pdf: ShotOptions['pdf'] = {},
): HardPage {
  return {
    name,
    site: typeof site === 'string' ? { '/': site } : site,
    formats: ['pdf'],
    options: { pdf: { margin: { top: 10, right: 10, bottom: 10, left: 10 }, ...pdf } },
    check,
  };
}

/** A footer that is fixed only in print. No top-level rule of a readable style sheet of the document shows that. */
const fixedByPrint = (name: string, head: string, others: HardPage['site'] = {}, body = '') =>
  onPaper(
    `an element that print styles fix is on every page: ${name}`,
    { '/': html(`<div class="foot">ACME</div>${rows}${body}`, head), ...others },
    (seen) => expect(pagesWith(seen, 'ACME')).toEqual(onAll),
  );

const css: NonNullable<HardPage['site'][string]> = (_request, response) => {
  response.writeHead(200, { 'content-type': 'text/css' });
  response.end('.foot { position: fixed; bottom: 0 }');
};

const pages: readonly HardPage[] = [
  onPaper(
    'fixed elements are on every page if the request asks for it',
    letter,
    (seen) => {
      expect(pagesWith(seen, 'ACME')).toEqual(onAll);
      expect(pagesWith(seen, 'DRAFT')).toEqual(onAll);
    },
    { fixed: 'repeat' },
  ),
  onPaper('fixed elements of a web page appear once, and the text keeps its size', letter, (seen) => {
    expect(pagesWith(seen, 'ACME')).toEqual([false, false, true]);
    expect(pagesWith(seen, 'DRAFT')).toEqual([true, false, false]);
    // 16 CSS pixels.
    expect(pagesOf(seen)[0]?.pieces.find(({ text }) => text === 'Row1')?.size).toBeCloseTo(12, 1);
  }),
  onPaper(
    'a rotated element is rotated once and does not shrink the page',
    html(
      '<div style="height:50px"></div><div class="tab">Feedback</div>',
      '<style>.tab { position: fixed; right: 0; top: 300px; width: 200px; height: 40px; background: #00ff00; color: #00ff00; transform: rotate(-90deg) translateY(80px) }</style>',
    ),
    (seen) => {
      // The sidebar is 40 px wide and 200 px tall, at the right edge of the column. The column is 718 px wide and starts 38 px from the
      // edge of the paper.
      const column = 38;
      for (const [x, y] of [
        [682, 225],
        [714, 225],
        [700, 415],
      ] as const)
        seen.expectColor(column + x, column + y, '#00ff00');
      for (const [x, y] of [
        [672, 320],
        [700, 215],
        [700, 425],
      ] as const)
        seen.expectColor(column + x, column + y, '#ffffff');
    },
  ),
  onPaper(
    'a fixed element keeps the size that its edges define',
    html(
      '<div class="bar">x</div>',
      '<style>.bar { position: fixed; inset: 100px 20px 600px; background: #00ff00; color: #00ff00 }</style>',
    ),
    (seen) => {
      // The paper is 794 px wide and 1,123 px tall, with margins of 38 px.
      for (const [x, y] of [
        [62, 145],
        [732, 145],
        [62, 480],
        [732, 480],
      ] as const)
        seen.expectColor(x, y, '#00ff00');
      seen.expectColor(745, 145, '#ffffff');
      seen.expectColor(62, 495, '#ffffff');
    },
  ),
  onPaper(
    'a background that fills the window is on every page',
    html(`<div style="position:fixed;inset:0;background:#00ff00;z-index:-1"></div>${rows}`),
    async (seen) => {
      const second = await rasterPage(seen.rendering.bytes, 2, 96 / 72);
      expect(second.at(700, 100)).toBe('#00ff00');
      expect(second.at(700, 1000)).toBe('#00ff00');
    },
  ),
  fixedByPrint('a nested rule', '<style>.foot { @media print { position: fixed; bottom: 0 } }</style>'),
  fixedByPrint('an import', '<style>@import url(/print.css) print;</style>', { '/print.css': css }),
  fixedByPrint(
    'an adopted style sheet',
    '',
    {},
    `<script>const sheet = new CSSStyleSheet({ media: 'print' }); sheet.replaceSync('.foot { position: fixed; bottom: 0 }');
     document.adoptedStyleSheets = [sheet];</script>`,
  ),
  fixedByPrint(
    'an element that print styles show',
    '<style>.foot { position: fixed; bottom: 0; display: none } @media print { .foot { display: block } }</style>',
  ),
  fixedByPrint(
    'a style sheet of another origin',
    `<script>const link = document.createElement('link'); link.rel = 'stylesheet'; link.media = 'print';
     link.href = location.href.replace('127.0.0.1', 'other.test') + 'print.css'; document.head.append(link);</script>`,
    { '/print.css': css },
  ),
  onPaper(
    'a fixed element of a shadow tree appears once',
    html(
      `<x-bar></x-bar>${rows}<script>document.querySelector('x-bar').attachShadow({ mode: 'open' }).innerHTML = '<div style="position:fixed;bottom:0">ACME</div>'</script>`,
    ),
    (seen) => expect(pagesWith(seen, 'ACME')).toEqual([false, false, true]),
  ),
  onPaper(
    'a fixed element after many others appears once',
    html(`${'<i></i>'.repeat(20_001)}${rows}<div style="position:fixed;bottom:0">ACME</div>`),
    (seen) => expect(pagesWith(seen, 'ACME')).toEqual([false, false, true]),
  ),
];

testCorpus(pages);

test('supplied HTML has its fixed elements on every page, unless the request asks for one', async () => {
  const engine = await corpusEngine();
  const source = { kind: 'html', html: letter } as const;
  const shown = await Promise.all(
    [{}, { fixed: 'once' } as const].map(async (pdf) => {
      const { pages: all } = await readPdf((await engine.render(source, { format: 'pdf', pdf })).bytes);
      return all.map(({ text }) => text.includes('ACME'));
    }),
  );
  expect(shown).toEqual([onAll, [false, false, true]]);
});
