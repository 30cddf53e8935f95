import { expect } from 'vitest';
import { html } from '../harness/engine.ts';
import { testCorpus, type HardPage, type Seen } from './corpus.ts';

const [green, red, blue, yellow] = ['#00aa00', '#ff0000', '#0000ff', '#ffff00'];
const waits = { state: 'visible', timeout: 10_000, required: true } as const;

/** A custom element whose open shadow root, declared in the HTML, has the content. */
const shadow = (tag: string, content: string, slotted = '', attributes = '') =>
  `<${tag} ${attributes} style="display:block"><template shadowrootmode="open">${content}</template>${slotted}</${tag}>`;
const box = (width: number, height: number, color: string, attributes = '', content = '') =>
  `<div ${attributes} style="width:${width}px;height:${height}px;background:${color}">${content}</div>`;
/** The whole picture is green. */
const isGreen = (seen: Seen): void => {
  seen.expectColor(300, 300, green);
  expect(seen.report.softTimeouts).toEqual([]);
};
/** The picture shows one box. */
const isBox =
  (width: number, height: number, color = green) =>
  (seen: Seen) => {
    seen.expectSize(width, height);
    for (const x of [2, width - 3]) for (const y of [2, height - 3]) seen.expectColor(x, y, color);
  };
const paint = `document.body.style.background = '${green}'`;

const shadows: readonly HardPage[] = [
  {
    name: 'selector: an element in nested shadow roots, whose selector starts outside of them, below a bar in another shadow root',
    site: {
      '/': html(
        `${shadow('x-bar', `<div style="position:fixed;inset:0 0 auto;height:300px;background:${red}">bar</div>`)}
         ${shadow('x-other', box(50, 50, red, 'class="price"'))}<div style="height:2000px"></div>
         ${shadow('x-shop', `<main>${shadow('x-card', box(300, 400, green, 'class="price"'))}</main>`, '', 'class="shop"')}
         <div style="height:2000px"></div>`,
      ),
    },
    options: { selector: '.shop main > x-card > .price' },
    check: isBox(300, 400),
  },
  {
    name: 'selector: a box of a shadow root with slotted content, above later content of the page',
    site: {
      '/': html(
        `${shadow('x-panel', `<section style="padding:20px;background:${blue};width:260px"><slot></slot></section>`, box(260, 100, green))}
         ${box(300, 140, red, 'class="none"')}<section>later</section>`,
      ),
    },
    options: { selector: 'section' },
    isLong: true,
    check: (seen) => {
      seen.expectSize(300, 140);
      seen.expectColor(10, 10, blue);
      seen.expectColor(150, 70, green);
    },
  },
  {
    name: 'waitFor and click reach into shadow roots that are attached later',
    site: {
      '/': html(
        `<x-app></x-app><script>setTimeout(() => {
           const root = document.querySelector('x-app').attachShadow({ mode: 'open' });
           root.innerHTML = '<div style="height:2000px"></div><x-button></x-button>';
           root.lastChild.attachShadow({ mode: 'open' }).innerHTML = '<button>go</button>';
           root.lastChild.shadowRoot.firstChild.onclick = (event) => setTimeout(() => { if (event.isTrusted) root.innerHTML = '<p>Your  Report</p>'; ${paint} }, 500);
         }, 700)</script>`,
      ),
    },
    options: { click: ['x-app x-button > button'], waitFor: { ...waits, text: 'your report' } },
    check: isGreen,
  },
  {
    name: 'hide and remove in shadow roots, also of later elements, by selectors that start outside of them',
    site: {
      '/': html(
        `<div id="top">${shadow('x-one', `${box(640, 50, red, 'class="ad"')}<div class="note"><b style="display:block;height:50px;background:${red};visibility:visible">x</b></div>`)}</div>
         ${shadow('x-ad', box(640, 50, red))}${box(640, 100, green)}
         <script>setTimeout(() => { const late = document.createElement('x-late'); document.body.append(late);
           late.attachShadow({ mode: 'open' }).innerHTML = \`${box(640, 50, red, 'class="ad"')}${box(640, 50, blue)}\` }, 300)</script>`,
      ),
    },
    options: { remove: ['.ad', ':host(x-ad)'], hide: ['#top .note'], delay: 800 },
    check: (seen) => {
      seen.expectColumn(300, [
        [25, '#ffffff'],
        [60, green],
        [140, green],
        [175, blue],
        [230, '#ffffff'],
      ]);
    },
  },
  {
    name: 'selector: an element without a box is captured as the rectangle around its content',
    site: {
      '/': html(
        `<div style="height:1000px"></div><div id="contents" style="display:contents">
           ${shadow('x-flat', `<div style="height:0">${box(300, 60, green)}</div>`, '', 'class="flat"')}
           <div style="margin-top:60px;width:200px;height:40px;background:${blue}"></div></div><style>.flat { display: contents !important }</style>
         <div style="position:fixed;inset:0;background:${red}">over it</div><div style="height:1000px"></div>`,
      ),
    },
    options: { selector: '#contents' },
    check: (seen) => {
      seen.expectSize(300, 100);
      seen.expectColumn(100, [
        [5, green],
        [55, green],
        [65, blue],
        [95, blue],
      ]);
    },
  },
];

const frames: readonly HardPage[] = [
  {
    name: 'selector: an element far down in a frame with borders, padding and a scale of 0.5, far down the page',
    site: {
      '/': html(
        `<div style="height:1500px"></div>
         <iframe id="app" src="/app" style="width:400px;height:300px;border:20px solid ${blue};padding:30px;background:${yellow};transform:scale(.5);transform-origin:0 0"></iframe>
         <div style="position:fixed;inset:0;background:#ff000080;pointer-events:none"></div><div style="height:1500px"></div>`,
      ),
      '/app': html(
        `<div style="position:sticky;top:0;height:200px;background:${red}">bar</div><div style="height:3000px"></div>
         <form class="content" style="margin:0;width:200px;height:100px;background:${green}"><input type="hidden" name="getBoundingClientRect"></form><div style="height:3000px"></div>`,
      ),
    },
    options: { selector: 'iframe#app >> .content' },
    check: isBox(100, 50),
  },
  {
    name: 'selector: an element larger than its frame, in a shadow root of a frame in a shadow root of a frame',
    site: {
      '/': html(
        `<div style="overflow:auto;height:200px"><div style="height:900px"></div><iframe name="a >> b" src="/outer"></iframe></div>`,
      ),
      '/outer': html(
        shadow('x-app', `<iframe src="/inner" style="width:100px;height:100px;border:5px solid ${red}"></iframe>`),
      ),
      '/inner': html(`${box(50, 700, red)}${shadow('x-card', box(500, 700, green, 'class="card"'))}<p>end`),
    },
    options: { selector: '[name="a >> b"]>>x-app > iframe >> x-card .card' },
    check: isBox(500, 700),
  },
  {
    name: 'selector: an element in frames that are rotated, mirrored, zoomed and scaled by every CSS property',
    site: {
      '/': html(
        `<div style="scale:-1 1;padding:300px 0 0"><iframe src="/outer" style="rotate:90deg;border:9px solid ${red};width:401px"></iframe></div>`,
      ),
      '/outer': html('<iframe src="/inner" style="zoom:.5;transform:scaleY(-1) skewX(0deg);padding:7px"></iframe>'),
      '/inner': html(
        `<div style="height:500px"></div>${box(200, 100, green, 'class="content"')}<div style="height:500px"></div>`,
      ),
    },
    options: { selector: 'iframe >> iframe >> .content' },
    isLong: true,
    check: isBox(50, 100),
  },
  {
    name: 'click in frames: of about:blank, scaled, and scrolled to',
    site: {
      '/': html(
        `<div style="height:900px"></div><iframe style="transform:scale(.5);border:30px solid ${blue}"></iframe><script>
         const frame = document.querySelector('iframe'); const inner = frame.contentDocument;
         inner.write('<div style="height:2000px"></div><iframe srcdoc="<div style=height:1000px></div><button>go</button>"></iframe>'); inner.close();
         let clicks = 0;
         addEventListener('load', () => { const button = inner.querySelector('iframe').contentDocument.querySelector('button');
           button.onclick = (event) => { clicks += 1; if (event.isTrusted && clicks === 1) ${paint} } })</script>`,
      ),
    },
    options: { click: ['iframe >> iframe >> button'] },
    check: isGreen,
  },
  {
    name: 'waitFor an element of a frame that appears late, disappears, reappears and loads only when it is near the viewport',
    site: {
      '/': html(
        `<div style="height:9000px"></div><iframe loading="lazy" src="/app"></iframe><script>
         setTimeout(() => document.querySelector('iframe').remove(), 200);
         setTimeout(() => document.body.insertAdjacentHTML('beforeend', '<iframe name="late" loading="lazy" src="/app?late"></iframe>'), 400);
         addEventListener('message', () => ${paint})</script>`,
      ),
      '/app': html(
        `<script>setTimeout(() => { document.body.innerHTML = '<p class="done">done'; parent.postMessage('', '*') }, location.search === '' ? 60000 : 500)</script>`,
      ),
    },
    options: { waitFor: { ...waits, selector: 'iframe >> .done' } },
    check: isGreen,
  },
  {
    name: 'hide and remove in frames, also in later frames',
    site: {
      '/': html(
        `<iframe class="app" src="/app"></iframe><script>setTimeout(() => document.body.insertAdjacentHTML('beforeend', '<iframe class="app" src="/app"></iframe>'), 200)</script>`,
        '<style>iframe { display: block; border: 0; width: 640px; height: 150px }</style>',
      ),
      '/app': html(
        `${box(640, 50, red, 'class="ad"')}${box(640, 50, red, 'class="note"')}${box(640, 50, green)}${shadow('x-ad', box(640, 50, red, 'class="ad"'))}`,
      ),
    },
    options: { remove: ['iframe.app >> .ad'], hide: ['.app >> .note'], delay: 800 },
    check: (seen) => {
      seen.expectColumn(300, [
        [25, '#ffffff'],
        [75, green],
        [125, '#ffffff'],
        [175, '#ffffff'],
        [225, green],
        [275, '#ffffff'],
      ]);
    },
  },
];

const words: readonly HardPage[] = [
  {
    name: 'waitFor: the message names the frame in which an element matches',
    site: {
      '/': html(
        `${shadow('x-app', '<iframe id="app" srcdoc="<iframe srcdoc=\'<p class=content>text\'></iframe>"></iframe>')}<p class="other">`,
      ),
    },
    options: { waitFor: { ...waits, timeout: 300, selector: '.content' } },
    fails: {
      code: 'CAPTURE_FAILED',
      message:
        /^waitFor\.selector "\.content" was not visible within 300 ms\. The search covered the document and 1 open shadow root, but not the 1 frame in it\. An element in a frame matches: try "iframe#app >> iframe >> \.content"\./,
    },
  },
  {
    name: 'waitFor: the message says that a frame cannot be searched',
    site: { '/': html('<iframe sandbox srcdoc="<p>text"></iframe>') },
    options: { waitFor: { ...waits, timeout: 300, selector: 'iframe >> p' } },
    fails: {
      code: 'CAPTURE_FAILED',
      message:
        /was not visible within 300 ms\. The frame that matches "iframe" cannot be searched: it has another origin/,
    },
  },
];

testCorpus([...shadows, ...frames, ...words].map((page) => ({ formats: ['png'], ...page })));
