import { expect } from 'vitest';
import { html, type Handler } from '../harness/engine.ts';
import { marked, svgAnswer } from './answers.ts';
import { testCorpus, type HardPage } from './corpus.ts';

/** Content that the page adds `delayMs` after it has loaded. */
const later = (delayMs: number, script: string) => `<script>setTimeout(() => { ${script} }, ${delayMs})</script>`;
const green = `<div id="late" style="position:fixed;inset:0;background:#00aa00">Your  Report</div>`;
const waits = { state: 'visible', timeout: 10_000, required: false } as const;

const isGreen: NonNullable<HardPage['check']> = (seen) => {
  seen.expectColor(200, 200, '#00aa00');
  expect(seen.report.softTimeouts).toEqual([]);
};

const waiting: readonly HardPage[] = [
  {
    name: 'waitFor an element that becomes visible long after load, among others that never do',
    isLong: true,
    site: {
      '/': html(`<i class="late" hidden>no</i>${later(3000, `document.body.innerHTML += \`${green}\``)}`),
    },
    options: { waitFor: { ...waits, selector: '.late, div:has(+ script), #late' } },
    formats: ['png'],
    check: isGreen,
  },
  {
    name: 'waitFor a text whose case a style changes, on a page that navigates meanwhile',
    isLong: true,
    site: {
      '/': html(later(400, 'location.href = "/next"')),
      '/next': html(
        `<style>#late { text-transform: uppercase }</style>${later(2500, `document.body.innerHTML += \`${green}\``)}`,
      ),
    },
    options: { waitFor: { ...waits, text: 'your report', required: true } },
    formats: ['png'],
    check: isGreen,
  },
  {
    name: 'waitFor the end of a loader, on a page that has replaced the functions that find elements',
    isLong: true,
    site: {
      '/': html(
        `<style>html { background: ${marked('#00aa00')} } #loader { position: fixed; inset: 0; background: #ff0000 }</style>
         <div id="loader">Loading</div>
         <script>document.querySelector = document.querySelectorAll = () => []; Element.prototype.checkVisibility = () => false; window.Promise = class {}</script>
         ${later(3000, 'loader.remove()')}`,
      ),
    },
    options: { waitFor: { ...waits, selector: '#loader', state: 'hidden' } },
    formats: ['png'],
    check: isGreen,
  },
  {
    name: 'waitFor an element that never appears',
    site: { '/': html(`<p hidden>text`) },
    options: { waitFor: { ...waits, selector: 'p', timeout: 300 } },
    formats: ['png'],
    check: (seen) => expect(seen.report.softTimeouts).toEqual(['waitFor']),
  },
  {
    name: 'waitFor an element that never appears, and is required',
    site: { '/': html(`<p hidden>text`) },
    options: { waitFor: { ...waits, text: 'text', timeout: 0, required: true } },
    formats: ['png'],
    fails: { code: 'CAPTURE_FAILED', message: /waitFor.text "text" was not visible within 0 ms/ },
  },
  {
    name: 'waitFor a selector that the browser does not support',
    site: { '/': html(`<p>text`) },
    options: { waitFor: { ...waits, selector: 'p:contains("text")' } },
    formats: ['png'],
    fails: { code: 'CAPTURE_FAILED', message: /waitFor.selector "p:contains\(\\"text\\"\)" is not a selector/ },
  },
];

const bar = (place: string) =>
  `<div style="position:fixed;left:0;right:0;${place}:0;height:60px;background:#ff0000">bar</div>`;
const striped = (width: number, height: number) =>
  `width:${width}px;height:${height}px;background:linear-gradient(#0000ff 50px, #00aa00 50px)`;

const image: Handler = (_request, response) => {
  response.writeHead(200, { 'content-type': 'image/svg+xml' });
  response.end(
    '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9" fill="#123456"/></svg>',
  );
};

const elements: readonly HardPage[] = [
  {
    name: 'selector: an element far down, below bars, an overlay without pointer events and a modal dialog',
    site: {
      '/': html(
        `${bar('top')}${bar('bottom')}
         <div style="position:fixed;inset:0;background:#ff000080;pointer-events:none;z-index:9"></div>
         <dialog style="background:#ff0000">Hello</dialog><script>document.querySelector('dialog').showModal()</script>
         <div style="height:4000px"></div>
         <div style="position:relative;background:#ffff00;padding:40px 100px;width:440px;height:480px">
           <i class="card" hidden></i>
           <div class="card" style="${striped(300, 450)}"></div>
           <div style="position:absolute;left:100px;top:40px;width:10px;height:10px;background:#ff0000"></div>
         </div>
         <div style="height:2000px"></div>`,
      ),
    },
    options: { selector: '.card', elementPadding: 20 },
    check: (seen) => {
      seen.expectSize(340, 490);
      seen.expectColumn(170, [
        [10, '#ffff00'],
        [40, '#0000ff'],
        [200, '#00aa00'],
        [460, '#00aa00'],
        [480, '#ffff00'],
      ]);
      seen.expectColor(24, 24, '#0000ff');
    },
  },
  {
    name: 'selector: an element larger than the viewport, in a smaller scrolling box, in a fixed app',
    site: {
      '/': html(
        `<style>html, body { height: 100%; overflow: hidden }</style>
         <div style="position:fixed;inset:0;overflow:hidden;background:#eeeeee">${bar('top')}
           <div style="margin:100px;height:200px;width:400px;overflow:auto">
             <div style="height:150vh"></div>
             <table id="t" style="border-spacing:0;${striped(900, 3000)}">
               <tr><td style="padding:0;vertical-align:bottom"><img loading="lazy" src="/image.svg" width="900" height="100" style="display:block">
             </table>
           </div>
           <footer style="position:absolute;bottom:0;height:300px;width:100%;background:#ff0000">foot</footer>
         </div>`,
      ),
      '/image.svg': image,
    },
    options: { selector: '#t' },
    formats: ['png'],
    check: (seen) => {
      seen.expectSize(900, 3000);
      for (const x of [10, 890]) {
        seen.expectColumn(x, [
          [10, '#0000ff'],
          [60, '#00aa00'],
          [300, '#00aa00'],
          [1500, '#00aa00'],
        ]);
      }
      seen.expectColor(450, 2950, '#123456');
    },
  },
  {
    name: 'selector: a section as tall as the viewport keeps its height, next to one that is visible first, at a scale of 2',
    site: {
      '/': html(
        `<section style="height:100vh;background:#0000ff"></section><main style="border:10px solid #00aa00;height:200vh;width:700px;box-sizing:border-box"></main>`,
      ),
    },
    options: { selector: 'section + main', viewport: { deviceScaleFactor: 2 } },
    formats: ['png'],
    check: (seen) => {
      seen.expectSize(1400, 1920);
      for (const y of [10, 1910]) seen.expectColor(700, y, '#00aa00');
      seen.expectColor(700, 960, '#ffffff');
    },
  },
  {
    name: 'selector: no visible element matches',
    site: { '/': html('<p hidden>text<p style="visibility:hidden">text') },
    options: { selector: 'p' },
    formats: ['png'],
    fails: {
      code: 'CAPTURE_FAILED',
      message:
        /^selector "p" matched no visible element within 5000 ms\. The search covered the document .* 2 elements that match cannot be seen\. Use waitFor/,
    },
  },
];

/** A row of each color, 1000 px tall, with a picture that loads when it is near the viewport. */
const rows = html(
  `<header style="position:fixed;top:0;width:100%;height:50px;background:#ff0000">bar</header>
   <div style="height:1000px;background:#0000ff"></div>
   <div id="row" style="height:1000px;background:#ffff00"><img src="/image.svg" loading="lazy" width="100" height="100" style="display:block;margin-left:800px"></div>
   <script>new IntersectionObserver(([e]) => { if (e.isIntersecting) row.style.background = '#00aa00' }).observe(row)</script>`,
);

/** Columns of 100 px, the first one at the right end; the last one gets its color when it comes into view. */
const fromRight = (writingMode: string) => ({
  '/': html(
    `${Array.from({ length: 20 }, (_, index) => `<p id="c${index}" style="margin:0;width:100px;background:#0000${(index * 10 + 20).toString(16)}"></p>`).join('')}
     <p id="last" style="margin:0;width:100px;background:#ff0000"></p><script>
       new IntersectionObserver((entries) => {
         if (entries.at(-1).isIntersecting) last.style.background = '#00aa00';
       }).observe(last);
     </script>`,
    '<meta name="viewport" content="width=device-width">',
  ).replace('<html>', `<html style="writing-mode:${writingMode}">`),
});

const vertical: readonly HardPage[] = [
  ...['vertical-rl', 'sideways-rl'].map((writingMode): HardPage => ({
    name: `selector: a column at the left end of a page with vertical text (${writingMode})`,
    site: fromRight(writingMode),
    options: { selector: '#c17' },
    check: (seen) => {
      seen.expectSize(100, 480);
      seen.expectColor(50, 200, '#0000be');
    },
  })),
  {
    name: 'selector: the whole of a page with vertical text, whose last column appears on scrolling, on a phone',
    site: fromRight('vertical-rl'),
    options: { selector: 'body', isMobile: true, viewport: { width: 375, height: 480 } },
    check: (seen) => {
      seen.expectSize(2100, 480);
      seen.expectColor(50, 200, '#00aa00');
      seen.expectColor(2050, 200, '#000014');
    },
  },
  {
    name: 'clip: at the left end of a page with vertical text, outside the viewport',
    isLong: true,
    site: fromRight('vertical-rl'),
    options: { clip: { x: 0, y: 0, width: 200, height: 100 } },
    check: (seen) => {
      seen.expectSize(200, 100);
      seen.expectColor(150, 50, '#0000d2');
    },
  },
  {
    name: 'clip: a lazy image at the left end of a page with vertical text',
    site: {
      '/': html(
        '<div style="width:6000px"></div><img loading="lazy" width="100" height="100" src="/image" style="display:block">',
      ).replace('<html>', '<html style="writing-mode:vertical-rl">'),
      '/image': svgAnswer('#00aa00'),
    },
    options: { clip: { x: 0, y: 0, width: 100, height: 100 } },
    check: (seen) => seen.expectColor(50, 50, '#00aa00'),
  },
];

const clips: readonly HardPage[] = [
  {
    name: 'clip: to the right of the viewport',
    site: {
      '/': html(
        '<div style="width:2000px;height:100px;background:linear-gradient(90deg,#0000ff 1000px,#00aa00 1000px)"></div>',
      ),
    },
    options: { clip: { x: 950, y: 0, width: 100, height: 100 } },
    check: (seen) => {
      seen.expectColor(20, 50, '#0000ff');
      seen.expectColor(80, 50, '#00aa00');
    },
  },
  {
    name: 'clip: within the first viewport, with its fixed elements, regardless of the fragment of the address',
    site: { '/': rows },
    path: '/#row',
    options: { clip: { x: 600, y: 0, width: 40, height: 100 }, viewport: { deviceScaleFactor: 1.5 } },
    formats: ['png'],
    check: (seen) => {
      seen.expectSize(60, 150);
      seen.expectColumn(30, [
        [74, '#ff0000'],
        [76, '#0000ff'],
      ]);
    },
  },
  {
    name: 'clip: beyond the viewport on two sides, with content that appears on scrolling',
    site: { '/': rows, '/image.svg': image },
    options: { clip: { x: 400, y: 900, width: 500, height: 600 } },
    check: (seen) => {
      seen.expectSize(500, 600);
      seen.expectColumn(450, [
        [50, '#ffffff'],
        [150, '#123456'],
        [500, '#ffffff'],
      ]);
      seen.expectColumn(100, [
        [50, '#0000ff'],
        [150, '#00aa00'],
        [590, '#00aa00'],
      ]);
    },
  },
  {
    name: 'clip: beyond a page that has become smaller',
    isLong: true,
    site: { '/': html(`<div id="t" style="height:3000px"></div>${later(0, `t.style.height = '50px'`)}`) },
    options: { clip: { x: 0, y: 0, width: 640, height: 481 } },
    formats: ['png'],
    fails: { code: 'CAPTURE_FAILED', message: /clip extends to 640 × 481 px, but the page is 640 × 480 px/ },
  },
];

const box = (color: string, attributes = '') => `<div style="height:100px;background:${color}" ${attributes}></div>`;

const hiding: readonly HardPage[] = [
  {
    name: 'hide keeps the space, remove does not; both also affect later elements, with their content',
    site: {
      '/': html(
        `${box('#ff0000', 'class="ad"')}
         <div class="teaser" style="height:100px;background:#ff0000"><b style="visibility:visible;display:block;height:50px;background:#ff0000"></b></div>
         ${box('#00aa00')}
         <script>setTimeout(() => { document.body.innerHTML = \`${box('#ff0000', 'class="ad"')}\` + document.body.innerHTML }, 300)</script>`,
      ),
    },
    options: { remove: ['.ad, .banner'], hide: ['.none', 'div.teaser'], delay: 800, isFullPage: true },
    formats: ['png', 'pdf'],
    check: (seen) => {
      seen.expectColumn(300, [
        [20, '#ffffff'],
        [80, '#ffffff'],
        [120, '#00aa00'],
        [180, '#00aa00'],
      ]);
    },
  },
  {
    name: 'hide and remove on a page that restores its advertising',
    isLong: true,
    site: {
      '/': html(
        `<style>@layer first { .ad { display: block !important } .note { visibility: visible !important } }</style>
         <div class="ad" style="height:100px;background:#ff0000"></div>
         <div class="ad" style="height:100px;background:#ff0000;display:block!important"></div>
         <div class="note" style="height:100px;background:#ff0000;transition:visibility 60s"></div>
         ${box('#00aa00')}
         <script>setInterval(() => { document.adoptedStyleSheets = [] }, 20); Array.prototype.includes = () => true</script>`,
      ),
    },
    options: { remove: ['.ad'], hide: ['.note'] },
    formats: ['png'],
    check: (seen) => {
      seen.expectColumn(300, [
        [50, '#ffffff'],
        [150, '#00aa00'],
        [250, '#ffffff'],
      ]);
    },
  },
  {
    name: 'remove a selector that the browser does not support',
    site: { '/': html('<p>text') },
    options: { remove: ['p', 'p:upside-down'] },
    formats: ['png'],
    fails: { code: 'CAPTURE_FAILED', message: /^remove "p:upside-down" is not a selector that the browser supports/ },
  },
];

testCorpus([...waiting, ...elements, ...vertical, ...clips, ...hiding]);
