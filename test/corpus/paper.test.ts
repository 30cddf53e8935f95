import { expect } from 'vitest';
import { html, type ShotOptions } from '../harness/engine.ts';
import { rasterPage } from '../harness/pdf-raster.ts';
import { fontsOf } from '../harness/pdf-fonts.ts';
import { svgAnswer } from './answers.ts';
import { long, testCorpus, type HardPage } from './corpus.ts';

type Check = NonNullable<HardPage['check']>;
type Seen = Parameters<Check>[0];

const formats = ['pdf'] as const;

/** A page on paper. Margins are 0 by default. */
function onPaper(name: string, body: string, check: Check, pdf: ShotOptions['pdf'] = {}): HardPage {
  return { name, site: { '/': body }, formats, options: { pdf }, check };
}

const pdfOf = ({ pdf }: Seen) => {
  if (pdf === undefined) throw new Error('no pdf');
  return pdf;
};
const mm = (points = 0) => (points / 72) * 25.4;
const sizeOf = (seen: Seen, page = 0) => {
  const { width, height } = pdfOf(seen).pages[page] ?? {};
  return [mm(width), mm(height)];
};
const textOf = (seen: Seen) => pdfOf(seen).pages.map(({ text }) => text);

function expectPaper(seen: Seen, width: number, height: number): void {
  const [wide = 0, tall = 0] = sizeOf(seen);
  // Chromium rounds to points and CSS pixels.
  expect(Math.abs(wide - width), `${wide} mm wide`).toBeLessThan(0.6);
  expect(Math.abs(tall - height), `${tall} mm tall`).toBeLessThan(0.6);
}

const margin = { top: 30, right: 20, bottom: 40, left: 50 };
const green = html('<div style="height:3000px;background:#00ff00"></div>');

const pages: readonly HardPage[] = [
  onPaper(
    'the requested paper and margins override those of the page',
    html(
      '<p style="margin:0;page:wide">here</p>',
      '<style>@page { size: A5 landscape; margin: 3cm } @page wide { size: A3 } @page :first { margin: 5cm }</style>',
    ),
    (seen) => {
      expectPaper(seen, 210, 297);
      const [piece] = pdfOf(seen).pages[0]?.pieces ?? [];
      expect(mm(piece?.x)).toBeCloseTo(50, 0);
      expect(mm(piece?.y)).toBeGreaterThan(30);
      expect(mm(piece?.y)).toBeLessThan(36);
      expect(piece?.size).toBeCloseTo(12, 1);
    },
    { margin },
  ),
  onPaper(
    'print CSS applies, screen CSS does not',
    html(
      '<p class="screen">on screen</p><p class="print">on paper</p>',
      '<style>.print{display:none}@media print{.screen{display:none}.print{display:block}}@media screen{.print{color:red}}</style>',
    ),
    (seen) => expect(textOf(seen)).toEqual(['on paper']),
  ),
  onPaper(
    'page breaks are where the page forces them, and not where it avoids them',
    html(
      `<h1>one</h1><h1 style="break-before:page">two</h1><h1 style="page-break-before:always">three</h1>
      <div style="height:800px">tall</div><div style="break-inside:avoid;height:300px"><p>kept</p><p style="margin-top:200px">together</p></div>`,
    ),
    (seen) => expect(textOf(seen)).toEqual(['one', 'two', 'three tall', 'kept together']),
  ),
  onPaper(
    'margins are white on all sides of every page',
    green,
    async (seen) => {
      for (const page of [1, 2]) {
        const picture = await rasterPage(seen.rendering.bytes, page, 25.4 / 72);
        expect(picture.at(100, 29)).toBe('#ffffff');
        expect(picture.difference(100, 31, '#00ff00')).toBeLessThan(4);
        expect(picture.difference(100, 255, '#00ff00')).toBeLessThan(4);
        expect(picture.at(100, 259)).toBe('#ffffff');
        expect([picture.at(48, 100), picture.at(192, 100)]).toEqual(['#ffffff', '#ffffff']);
        expect(picture.difference(52, 100, '#00ff00')).toBeLessThan(4);
        expect(picture.difference(188, 100, '#00ff00')).toBeLessThan(4);
      }
    },
    { margin },
  ),
  {
    ...onPaper('margins that leave no space are refused', html('x'), () => {}, {
      margin: { top: 200, right: 10, bottom: 200, left: 10 },
    }),
    fails: { code: 'CAPTURE_FAILED', message: /margins/ },
  },
  ...[0.5, 2].map((scale) =>
    onPaper(
      `a scale of ${scale} scales the text, and not the margins`,
      html('<p style="margin:0">here</p>'),
      (seen) => {
        const [piece] = pdfOf(seen).pages[0]?.pieces ?? [];
        expect(piece?.size).toBeCloseTo(12 * scale, 1);
        expect(mm(piece?.x)).toBeCloseTo(50, 0);
      },
      { scale, margin },
    ),
  ),
  onPaper('backgrounds are printed if requested', green, (seen) => {
    expect(seen.picture.share('#00ff00', 2)).toBeGreaterThan(0.99);
  }),
  onPaper(
    'without backgrounds, the text is printed',
    html('<body style="background:#000;color:#fff">here'),
    (seen) => {
      expect(textOf(seen)).toEqual(['here']);
      // White letters would be invisible on white paper.
      expect(seen.picture.share('#ffffff', 2)).toBeGreaterThan(0.99);
      expect(seen.picture.share('#ffffff', 2)).toBeLessThan(1);
    },
    { printBackground: false },
  ),
  onPaper(
    'a background with print-color-adjust is always printed',
    html('<div style="height:500px;background:#00ff00;print-color-adjust:exact">here</div>'),
    (seen) => seen.expectColumn(400, [[100, '#00ff00']]),
    { printBackground: false },
  ),
  onPaper(
    'the head and foot of a long table are on each of its pages',
    html(
      `<table><thead><tr><th>Head<tfoot><tr><td>Foot<tbody>${Array.from({ length: 120 }, (_, row) => `<tr><td>Row${row}`).join('')}</table>`,
    ),
    (seen) => {
      const pages = textOf(seen);
      expect(pages.length).toBeGreaterThan(2);
      for (const page of pages) expect([page.match(/Head/g), page.match(/Foot/g)]).toEqual([['Head'], ['Foot']]);
      expect(pages.join(' ').match(/Row\d+/g)).toHaveLength(120);
    },
  ),
  onPaper(
    'a table wider than the paper is scaled down',
    html(
      `<table style="border-spacing:0"><tr>${Array.from({ length: 10 }, (_, cell) => `<td style="padding:0;min-width:110px">c${cell}`).join('')}</table>`,
    ),
    (seen) => {
      expect(textOf(seen)).toHaveLength(1);
      const { width = 0, pieces = [] } = pdfOf(seen).pages[0] ?? {};
      expect(pieces.map(({ text }) => text)).toEqual(Array.from({ length: 10 }, (_, cell) => `c${cell}`));
      expect(pieces.at(-1)?.x).toBeLessThan(width);
    },
  ),
  onPaper(
    'an element that print rules fix is on every page, a sticky one appears once',
    html(
      `<style>@media print { #bar { position: fixed; top: 0 } }</style><div id="bar">fixed</div><div style="position:sticky;top:0">sticky</div><div style="height:2500px">text</div>`,
    ),
    (seen) => {
      const all = textOf(seen);
      expect(all).toHaveLength(3);
      expect(all.every((text) => text.includes('fixed'))).toBe(true);
      expect(all.filter((text) => text.includes('sticky'))).toHaveLength(1);
    },
  ),
  onPaper(
    'fixed elements appear once: upper bars at the top of the first page, lower bars at the end',
    html(
      `<div style="position:fixed;top:0">fixed</div><div style="position:fixed;bottom:0">cookies</div><div style="height:2500px">text</div>`,
    ),
    (seen) => {
      const all = textOf(seen);
      expect(all.map((text) => text.includes('fixed'))).toEqual([true, false, false]);
      expect(all.map((text) => text.includes('cookies'))).toEqual([false, false, true]);
    },
  ),
  onPaper(
    'an off-screen panel is not on paper, and does not make the page wider',
    html(
      `<aside style="position:fixed;top:0;right:-300px;width:280px;height:100%">panel</aside><main style="background:#00ff00;height:300px">text</main>`,
    ),
    (seen) => {
      expect(textOf(seen).join('')).not.toContain('panel');
      seen.expectColor(780, 250, '#00ff00');
    },
  ),
  onPaper(
    'scripts read the width of the paper and the print rules, and draw for them',
    html(
      `<style>@media print { nav { display: none } } nav { float: left; width: 200px; height: 100px } main { overflow: hidden }</style><nav></nav><main><canvas id="chart" height="100"></canvas><p id="size"></p></main>
       <script>const draw = () => { chart.width = chart.parentElement.clientWidth; chart.getContext('2d').fillRect(0, 0, chart.width, 100);
         size.textContent = chart.width + ' of ' + innerWidth; }; addEventListener('resize', draw); draw();</script>`,
    ),
    (seen) => {
      // 210 mm are 793.7 px.
      expect(textOf(seen).join('')).toContain('793 of 793');
      seen.expectColor(780, 50, '#000000');
    },
  ),
  {
    ...onPaper(
      'lazy pictures are on paper, also on the last page',
      html(
        `${'<div style="height:1500px"></div>'.repeat(3)}<img loading="lazy" src="/lazy.svg" width="300" height="300">`,
      ),
      async (seen) => {
        expect(seen.asked('/lazy.svg')).toBe(1);
        const picture = await rasterPage(seen.rendering.bytes, pdfOf(seen).pages.length);
        expect(picture.share('#00ff00', 3)).toBeGreaterThan(0.05);
      },
    ),
    site: {
      '/': html(
        `${'<div style="height:1500px"></div>'.repeat(3)}<img loading="lazy" src="/lazy.svg" width="300" height="300">`,
      ),
      '/lazy.svg': (_request, response) => {
        response.writeHead(200, { 'content-type': 'image/svg+xml' });
        response.end(
          '<svg xmlns="http://www.w3.org/2000/svg" width="300" height="300"><rect width="300" height="300" fill="#0f0"/></svg>',
        );
      },
    },
  },
  {
    ...onPaper('background pictures of print styles are on paper, on a page without scripts', '', async (seen) => {
      const { softTimeouts, images } = seen.report;
      expect(softTimeouts).toEqual([]);
      expect(images).toEqual({ loaded: 1, failed: 0, pending: 0 });
      expect((await rasterPage(seen.rendering.bytes, 1)).share('#00ff00')).toBeGreaterThan(0.005);
    }),
    site: {
      '/': html(
        '<div class="box"></div>',
        '<style>.box { width: 100px; height: 100px } @media print { .box { background: url(/print.svg) } }</style>',
      ),
      '/print.svg': svgAnswer('#00ff00', 400),
    },
  },
  {
    ...onPaper('background pictures of parts with content-visibility are on paper, too', '', async (seen) => {
      expect(seen.asked('/auto.svg')).toBe(1);
      const picture = await rasterPage(seen.rendering.bytes, pdfOf(seen).pages.length);
      expect(picture.share('#00ff00')).toBeGreaterThan(0.005);
    }),
    site: {
      '/': html(
        '<div style="height:4500px"></div><section><div class="box"></div></section>',
        '<style>section { content-visibility: auto } .box { width: 100px; height: 100px; background: url(/auto.svg) }</style>',
      ),
      '/auto.svg': svgAnswer('#00ff00', 400),
    },
  },
  onPaper(
    'canvas and WebGL are on paper',
    html(
      `<canvas id="flat" width="400" height="100" style="display:block"></canvas><canvas id="deep" width="400" height="100"></canvas><script>
        const pen = flat.getContext('2d'); pen.fillStyle = '#00ff00'; pen.fillRect(0, 0, 400, 100);
        const gl = deep.getContext('webgl'); gl.clearColor(0, 0, 1, 1); gl.clear(gl.COLOR_BUFFER_BIT);
      </script>`,
    ),
    (seen) =>
      seen.expectColumn(200, [
        [50, '#00ff00'],
        [150, '#0000ff'],
      ]),
  ),
  onPaper(
    'text stays text, in order, with links, headings and the title of the page',
    html(
      `<h1>First</h1><p>Second <a href="https://site.test/link">third</a></p><h2>Fourth</h2><p style="columns:2">fifth sixth</p>`,
    ),
    (seen) => {
      expect(textOf(seen).join(' ')).toMatch(/^First Second third Fourth fifth sixth$/);
      expect(pdfOf(seen).title).toBe('Test');
      const raw = seen.rendering.bytes.toString('latin1');
      expect(raw).toContain('/URI (https://site.test/link)');
      // Tagged, for screen readers.
      expect(raw).toMatch(/\/MarkInfo/);
      for (const tag of ['H1', 'H2', 'P', 'Link']) expect(raw).toMatch(new RegExp(`/S /${tag}\\b`));
      // Nothing is rendered as a picture.
      expect(raw).not.toMatch(/\/Subtype \/Image/);
    },
  ),
  onPaper(
    'every font is embedded: Latin, CJK, Arabic, emoji',
    html(
      `<p>Latin <b>bold</b></p><p lang="ja">文字</p><p lang="ko">한국어</p><p dir="rtl">مرحبا</p><p>😀</p><p>हिन्दी ไทย</p>`,
    ),
    (seen) => {
      const fonts = fontsOf(seen.rendering.bytes);
      expect(fonts.filter(({ embedded }) => !embedded)).toEqual([]);
      const names = fonts.map(({ name }) => name).join(' ');
      for (const name of ['CJK', 'Emoji']) expect(names).toContain(name);
      expect(fonts.length).toBeGreaterThan(5);
      expect(textOf(seen).join(' ')).toMatch(/Latin.*bold.*한국어.*😀/);
    },
  ),
  onPaper(
    'text from right to left starts at the right edge',
    html('<p>שלום עולם</p>').replace('<html>', '<html dir="rtl">'),
    (seen) => {
      const { width = 0, pieces = [] } = pdfOf(seen).pages[0] ?? {};
      expect(Math.min(...pieces.map(({ x }) => x))).toBeGreaterThan(width / 2);
    },
  ),
  onPaper(
    'content that scripts show only in view is on every page',
    html(
      `<style>.box { height: 400px; opacity: 0; transition: opacity .4s; break-inside: avoid } .box.in { opacity: 1 }</style>
       ${Array.from({ length: 8 }, (_, id) => `<div class="box">box${id}<div style="height:200px;background:#00ff00"></div></div>`).join('')}
       <script>const watch = new IntersectionObserver((entries) => entries.forEach(({ target, isIntersecting }) => target.classList.toggle('in', isIntersecting)));
         document.querySelectorAll('.box').forEach((box) => watch.observe(box));</script>`,
    ),
    async (seen) => {
      expect(pdfOf(seen).pages).toHaveLength(4);
      const last = await rasterPage(seen.rendering.bytes, 4, 25.4 / 72);
      expect(last.difference(100, 40, '#00ff00')).toBeLessThan(4);
    },
  ),
  onPaper(
    'content that scripts fade in and out with the scroll position is visible',
    html(
      `<div style="height:2400px"></div>${'<p style="height:200px;margin:0 0 400px;background:#00ff00">text</p>'.repeat(3)}
       <script>const show = () => { for (const one of document.querySelectorAll('p')) {
           const { top } = one.getBoundingClientRect(); one.style.opacity = Math.abs(top + 100 - innerHeight / 2) < 400 ? 1 : 0; } };
         addEventListener('scroll', show); show();</script>`,
    ),
    async (seen) => {
      const { pages: paper } = pdfOf(seen);
      const last = await rasterPage(seen.rendering.bytes, paper.length, 25.4 / 72);
      expect(last.share('#00ff00')).toBeGreaterThan(0.03);
    },
  ),
  onPaper(
    'a sidebar that would cover the text is left out',
    html(
      `<nav style="position:fixed;top:0;left:0;width:250px;height:100vh;background:#00ff00">${'<a>menu</a> '.repeat(300)}</nav><main>${'<p style="height:300px">words of the page</p>'.repeat(6)}</main>`,
    ),
    async (seen) => {
      expect(textOf(seen).join(' ')).not.toContain('menu');
      expect((await rasterPage(seen.rendering.bytes, 1, 25.4 / 72)).share('#00ff00')).toBe(0);
    },
  ),
];

/** Pages of other test files in this folder whose expectations also apply to paper. */
const variants = new Set([
  'text from right to left starts at the right edge',
  'content that scripts show only in view is on every page',
  'content that scripts fade in and out with the scroll position is visible',
  'a sidebar that would cover the text is left out',
]);

testCorpus(pages.map((page) => (variants.has(page.name) ? long(page) : page)));
