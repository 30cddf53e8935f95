import { expect } from 'vitest';
import { html, type ShotOptions } from '../harness/engine.ts';
import { rasterPage } from '../harness/pdf-raster.ts';
import { testCorpus, type HardPage, type Seen } from './corpus.ts';

/** A page with PDF options. */
function printed(
  name: string,
  body: string,
  pdf: NonNullable<ShotOptions['pdf']>,
  check: (seen: Seen) => unknown,
): HardPage {
  const site = { '/': body };
  return { name, site, formats: ['pdf'], options: { pdf }, check: async (seen) => void (await check(seen)) };
}

const pagesOf = ({ pdf }: Seen) => pdf?.pages ?? [];
const textOf = (seen: Seen) => pagesOf(seen).map(({ text }) => text);
/** Size of each page in millimeters. */
const sizesOf = (seen: Seen) =>
  pagesOf(seen).map(({ width, height }) => [width, height].map((points) => Math.round((points / 72) * 25.4)));
const sizeInMetadata = ({ rendering: { width, height } }: Seen) =>
  [width, height].map((px) => Math.round((px / 96) * 25.4));

const ptToMm = (points: number) => (points / 72) * 25.4;

const margin = { top: 20, right: 20, bottom: 20, left: 20 };
const threePages = '<h1>one</h1><h2 style="break-before:page">two</h2><h2 style="break-before:page">three</h2>';
const numbers = '<b style="font-size:10px"><i class="pageNumber"></i> of <i class="totalPages"></i></b>';
const greenSvg = `<svg xmlns='http://www.w3.org/2000/svg' width='40' height='20'><rect width='40' height='20' fill='%2300ff00'/></svg>`;

const pages: readonly HardPage[] = [
  printed(
    'header and footer are on every page, in the margins, with numbers, title and images',
    html(threePages),
    {
      margin,
      headerTemplate: `<style>#header { padding: 0 }</style><img style="margin:10px 50px" src="data:image/svg+xml,${greenSvg}">`,
      footerTemplate: `${numbers}<b style="font-size:16px" class="title"></b>`,
    },
    async (seen) => {
      expect(textOf(seen)).toEqual(['one 1 of 3 Test', 'two 2 of 3 Test', 'three 3 of 3 Test']);
      for (const { pieces, height } of pagesOf(seen)) {
        const [footer, title] = [pieces[1], pieces.at(-1)];
        expect(footer?.y).toBeGreaterThan(height - (20 / 25.4) * 72);
        // 10 and 16 CSS pixels.
        expect([footer?.size, title?.size]).toEqual([expect.closeTo(7.5, 1), expect.closeTo(12, 1)]);
      }
      const last = await rasterPage(seen.rendering.bytes, 3, 96 / 72);
      expect(last.difference(70, 20, '#00ff00')).toBeLessThan(4);
    },
  ),
  printed(
    'a footer without a header, on a page that hides everything',
    html(
      threePages,
      `<meta http-equiv="content-security-policy" content="require-trusted-types-for 'script'; img-src 'none'; style-src-attr 'none'">
       <style>h2 { break-before: page } @page { margin: 0; @bottom-center { content: 'of the page' } } @media print { #footer, span, i { display: none !important } }</style>`,
    ),
    { margin, footerTemplate: numbers, pageRanges: '3-,1' },
    (seen) => {
      expect(textOf(seen)).toEqual([expect.stringMatching(/one 1 of 3$/), expect.stringMatching(/three 3 of 3$/)]);
    },
  ),
  {
    ...printed('one single page has header and footer', html('<h1>one</h1>'), {}, () => {}),
    options: {
      isFullPage: true,
      pdf: { margin, headerTemplate: '<b style="font-size:9px">head</b>', footerTemplate: numbers },
    },
    check: (seen) => expect(textOf(seen)).toEqual(['one head 1 of 1']),
  },
  {
    ...printed('a page range outside the document', html(threePages), { pageRanges: '4-6,9-' }, () => {}),
    fails: { code: 'CAPTURE_FAILED', message: /^pdf\.pageRanges "4-6,9-" selects no page of the document/ },
  },
  printed(
    'missing pages of a range are left out, and the size is that of the first printed page',
    html(
      '<p>small</p><p style="page:large">large</p>',
      '<style>@page { size: 105mm 148mm } @page large { size: A5 }</style>',
    ),
    { pageRanges: '2-7', preferCssPageSize: true },
    (seen) => {
      expect(textOf(seen)).toEqual(['large']);
      expect([sizesOf(seen), sizeInMetadata(seen)]).toEqual([[[148, 210]], [148, 210]]);
    },
  ),
  printed(
    'the size in the page applies, also for its scripts, with the margins of the request',
    html(
      '<p id="size" style="margin:0"></p><script>const tell = () => { size.textContent = document.body.clientWidth + " wide" }; addEventListener("resize", tell); tell()</script>',
      '<style>@page { size: A4 } @media print { @page { size: A5 landscape; margin: 3cm } }</style>',
    ),
    { margin, preferCssPageSize: true },
    (seen) => {
      expect(sizesOf(seen)).toEqual([[210, 148]]);
      expect(sizeInMetadata(seen)).toEqual([210, 148]);
      // 210 mm minus two margins are 642.5 px.
      expect(textOf(seen)).toEqual([expect.stringMatching(/^64[12] wide$/)]);
      expect(pagesOf(seen)[0]?.pieces[0]?.x).toBeCloseTo((20 / 25.4) * 72, 0);
    },
  ),
  ...['auto', '39mm'].map((size) =>
    printed(
      `an unusable page size (${size}) is ignored, and the paper of the request applies`,
      html('<p>x</p>', `<style>@page { size: ${size} }</style>`),
      { paper: 'A6', margin, preferCssPageSize: true },
      (seen) => expect([sizesOf(seen), sizeInMetadata(seen)]).toEqual([[[105, 148]], [105, 148]]),
    ),
  ),
  {
    ...printed(
      'a page size beyond the limit of a pdf',
      html('<p>x</p>', '<style>@page { size: 6000mm 1000mm }</style>'),
      { preferCssPageSize: true },
      () => {},
    ),
    fails: { code: 'PAGE_TOO_LARGE', message: /paper size of 6000 × 1000 mm, but a pdf page is limited to 5080 mm/ },
  },
  printed(
    'the margins of @page rules apply if the request asks for them',
    html(
      '<p>first</p><p style="break-before:page">second</p>',
      '<style>@page { margin: 30mm 20mm } @page :first { margin-top: 5mm } p { margin: 0; line-height: 1 }</style>',
    ),
    { hasCssMargin: true },
    (seen) => {
      const tops = pagesOf(seen).map(({ pieces }) => ptToMm(pieces[0]?.y ?? 0));
      // The baseline of the text is 3.4 mm below the margin.
      expect(tops).toEqual([expect.closeTo(8.4, 0), expect.closeTo(33.4, 0)]);
      expect(ptToMm(pagesOf(seen)[0]?.pieces[0]?.x ?? 0)).toBeCloseTo(20, 0);
    },
  ),
  {
    ...printed('a date in header and footer follows the locale', html('<p>text</p>'), {}, () => {}),
    options: {
      locale: 'de-DE',
      timezone: 'Europe/Berlin',
      pdf: { headerTemplate: '<style>.date { font-size: 9px }</style><b class="left date">date</b>', margin },
    },
    check: (seen) => expect(textOf(seen)).toEqual([expect.stringMatching(/^text \d\d\.\d\d\.\d\d, \d\d:\d\d$/)]),
  },
  {
    ...printed(
      'a dark color scheme reaches light-dark() and color-scheme',
      html('<p>x</p>', '<style>:root { color-scheme: light dark; background: light-dark(#fff, #123) }</style>'),
      {},
      () => {},
    ),
    options: { colorScheme: 'dark' },
    check: async (seen) => {
      const raster = await rasterPage(seen.rendering.bytes, 1, 1);
      expect(raster.difference(100, 100, '#112233')).toBeLessThan(4);
    },
  },
  printed(
    'a custom paper size overrides that of the page',
    html(
      '<p id="size" style="margin:0"></p><script>const tell = () => { size.textContent = innerWidth }; addEventListener("resize", tell); tell()</script>',
      '<style>@page { size: A3 landscape }</style>',
    ),
    { paper: { width: 62, height: 29 }, margin: { top: 0, right: 1, bottom: 0, left: 1 } },
    (seen) => {
      expect([sizesOf(seen), sizeInMetadata(seen)]).toEqual([[[62, 29]], [62, 29]]);
      // 60 mm.
      expect(textOf(seen)).toEqual(['226']);
    },
  ),
  printed(
    'bookmarks are the headings of the page, without those in hidden boxes',
    html(`${threePages}<h3 hidden>hidden</h3><section><h3>four (4) &lt;\\u00e9&gt; \u00e9</h3></section>`),
    { outline: true },
    (seen) => {
      expect(seen.pdf?.outline).toEqual(['one', '> two', '> three', '> > four (4) <\\u00e9> \u00e9']);
      expect(seen.rendering.bytes.toString('latin1')).toContain('/StructTreeRoot');
    },
  ),
  printed(
    'bookmarks keep the spaces of headings at line ends, and the file stays valid',
    html(
      '<h1 style="width:500px;font-size:60px">Annual report about everything you can do with paper and ink</h1><h2>Second &amp; <em>level</em></h2><h2 style="text-transform:uppercase">\u00fcmlaut<br>\u65e5\u672c</h2><h3>Third<br>line</h3><h3>(as it is)</h3>',
    ),
    { outline: true },
    (seen) => {
      expect(seen.pdf?.outline).toEqual([
        'Annual report about everything you can do with paper and ink',
        '> Second & level',
        '> \u00dcMLAUT \u65e5\u672c',
        '> > Third line',
        '> > (as it is)',
      ]);
      expect(textOf(seen)[0]).toContain('Third line');
    },
  ),
  printed(
    'a page that navigates after printing keeps its bookmarks',
    html(`<h1 style="width:1px">One two</h1><script>onafterprint = () => location.replace('/gone')</script>`),
    { outline: true },
    (seen) => expect(seen.pdf?.outline).toEqual(['One two']),
  ),
  printed('a page without headings has no bookmarks', html('<p>x</p>'), { outline: true }, (seen) =>
    expect(seen.pdf?.outline).toEqual([]),
  ),
  printed('no tags', html(threePages), { tagged: false }, (seen) => {
    expect(textOf(seen)).toEqual(['one', 'two', 'three']);
    expect(seen.rendering.bytes.toString('latin1')).not.toMatch(/MarkInfo|StructTreeRoot/);
  }),
  ...(
    [
      ['nothing', '<p hidden>x', true],
      ['two empty parts', '<div style="height:9px"></div><div style="height:9px;break-before:page"></div>', true],
      ['one plain background', '<body style="background:#123">', true],
      ['a gradient', '<div style="height:800px;background:linear-gradient(#fff, #eee)"></div>', false],
      ['two backgrounds', '<body style="background:#123"><div style="height:800px;background:#456"></div>', false],
      ['a line', '<hr>', false],
      ['a colored column', '<div style="width:40px;height:800px;background:#456"></div>', false],
      ['a rotated background', '<div style="width:600px;height:700px;background:#456;rotate:9deg"></div>', false],
      [
        'a box that clips a background',
        '<div style="width:90px;height:90px;overflow:clip"><div style="width:900px;height:1200px;background:#456"></div></div>',
        false,
      ],
      [
        'a box next to a scaled background',
        '<svg style="display:block" width="600" height="700" viewBox="0 0 60 70"><rect width="60" height="70" fill="#445566" /></svg><svg width="60" height="60"><rect width="60" height="60" fill="#445566" /></svg>',
        false,
      ],
      ['a drawing', '<svg width="20" height="20"><circle r="9" cx="9" cy="9" /></svg>', false],
      ['a picture', `<img src="data:image/svg+xml,${greenSvg}">`, false],
      ['a text on the second page', '<div style="height:9px"></div><p style="break-before:page">x</p>', false],
      ['a link without text', '<a href="https://example.com/" style="display:block;height:9px"></a>', true],
    ] as const
  ).map(([what, body, isBlank]) =>
    printed(`a page with ${what} is ${isBlank ? '' : 'not '}blank`, html(body), {}, (seen) => {
      expect(seen.report.blank).toBe(isBlank);
      expect(seen.rendering.pages).toBe(seen.pdf?.pages.length);
    }),
  ),
];

testCorpus(pages);
