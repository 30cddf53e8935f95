import sharp from 'sharp';
import { expect } from 'vitest';
import { html, type ShotOptions } from '../harness/engine.ts';
import { answer, hang, reset, svg, svgAnswer } from './answers.ts';
import { testCorpus, type HardPage } from './corpus.ts';

const green = '#00aa00';
const blue = '#0000cc';
const plain = (width: number, height: number, background = green) =>
  sharp({ create: { width, height, channels: 3, background } });
const greenPng = await plain(50, 50).png().toBuffer();
const large = await plain(9000, 6000).png().toBuffer();
const slow = (ms: number) => answer('image/png', greenPng, { afterMs: ms });
/** Two frames, green and then red, that change after a minute. */
const animated = (format: 'gif' | 'webp') =>
  sharp([plain(50, 50), plain(50, 50, '#cc0000')].map((frame) => frame.png()).length ? Buffer.concat([]) : undefined)
    .toFormat(format)
    .toBuffer();
void animated;

/** Pixels of blocks of 100 px, one below the other. */
const blocks = (...colours: string[]) => colours.map((colour, index) => [index * 100 + 50, colour] as const);
const inScripts = (body: string) =>
  `<div id="box"></div><script>addEventListener('load', () => (box.innerHTML = ${JSON.stringify(body)}))</script>`;

/** Which of the candidates of `srcset` is asked for, and that it is asked for once. */
const candidates = (deviceScaleFactor: number, expected: string): HardPage => ({
  name: `srcset at scale ${deviceScaleFactor}: ${expected}, asked for once`,
  site: {
    '/': html(
      `<img style="display:block" width="100" height="100" srcset="/a1 1x, /a2 2x, /a3 3x" src="/a0">
       <img style="display:block" width="100" height="100" srcset="/w100 100w, /w200 200w, /w300 300w" sizes="100px">
       <div style="height:100px;width:100px;background:image-set(url(/s1) 1x, url(/s2) 2x, url(/s3) 3x)"></div>`,
    ),
    ...Object.fromEntries(
      ['a0', 'a1', 'a2', 'a3', 'w100', 'w200', 'w300', 's1', 's2', 's3'].map((name) => [
        `/${name}`,
        svgAnswer(name.endsWith(expected[1] ?? '') || name.includes(expected.slice(1)) ? green : '#cc0000'),
      ]),
    ),
  },
  options: { viewport: { width: 200, height: 300, deviceScaleFactor } },
  formats: ['png'],
  check: (seen) => {
    const at = (y: number) => [y * deviceScaleFactor, green] as const;
    seen.expectColumn(50 * deviceScaleFactor, [at(50), at(150), at(250)]);
    const asked = seen.requests.filter((path) => /^\/[aws]/.test(path)).toSorted();
    expect(asked).toEqual([`/a${deviceScaleFactor}`, `/s${deviceScaleFactor}`, `/w${deviceScaleFactor}00`]);
  },
});

/** A page that brings an image by a script after load, in a way of its own; the image comes 600 ms later. */
const late = (name: string, body: string, options: ShotOptions = {}): HardPage => ({
  name: `an image that comes late: ${name}`,
  site: { '/': html(inScripts(body)), '/late.svg': svgAnswer(green, 600) },
  options: { delay: 100, imageTimeout: 5000, ...options },
  formats: ['png'],
  check: (seen) => {
    seen.expectColour(50, 50, green);
    expect(seen.asked('/late.svg')).toBe(1);
    expect(seen.report.images).toEqual({ loaded: 1, failed: 0, pending: 0 });
    expect(seen.report.timings.settleMs).toBeLessThan(3000);
  },
});

const square = 'display:block;width:100px;height:100px';

const pages: readonly HardPage[] = [
  candidates(1, 'x1'),
  candidates(2, 'x2'),
  candidates(3, 'x3'),
  late('img', `<img style="${square}" src="/late.svg">`),
  late('a background', `<div style="${square};background:url(/late.svg)"></div>`),
  late('a background of ::before', `<style>b::before{content:"";${square};background:url(/late.svg)}</style><b></b>`),
  late('content of ::after', `<style>b::after{content:url(/late.svg);display:block}</style><b></b>`),
  late('a mask', `<div style="${square};background:${green};mask:url(/late.svg)"></div>`),
  late('a border', `<div style="width:0;height:0;border:50px solid;border-image:url(/late.svg) 50"></div>`),
  late('the bullet of a list', `<ul style="margin:0;padding:0;list-style:url(/late.svg) inside;font-size:0"><li></ul>`),
  late('an image in svg', `<svg style="${square}"><image href="/late.svg" width="100" height="100"/></svg>`),
  late('an image button', `<input type="image" style="${square}" src="/late.svg">`),
  late('the poster of a video', `<video style="${square}" poster="/late.svg"></video>`),
  late(
    'within a frame',
    `<iframe style="${square};border:0" srcdoc='<body style="margin:0"><img src="/late.svg">'></iframe>`,
  ),
  late(
    'within a frame of a frame',
    `<iframe style="${square};border:0" srcdoc='<body style="margin:0"><iframe style="border:0" srcdoc="<body style=margin:0><img src=/late.svg>">'></iframe>`,
  ),
  {
    name: 'images of every kind of source',
    site: {
      '/': html(
        `<style>img{${square}}</style>
         <picture><source media="(max-width: 100px)" srcset="/red.svg"><source type="image/none" srcset="/red.svg"><source media="(min-width: 500px)" srcset="/green.svg?media"><img src="/red.svg"></picture>
         <img src="data:image/png;base64,${greenPng.toString('base64')}">
         <img id="blob"><script>blob.src = URL.createObjectURL(new Blob([${JSON.stringify(svg(green))}], { type: 'image/svg+xml' }))</script>
         <img decoding="async" src="/large.png">`,
      ),
      '/green.svg': svgAnswer(green),
      '/large.png': answer('image/png', large),
    },
    check: (seen) => {
      seen.expectColumn(50, blocks(green, green, green, green));
      expect(seen.report.images).toEqual({ loaded: 4, failed: 0, pending: 0 });
      expect(seen.asked('/red.svg')).toBe(0);
    },
  },
  {
    name: 'SVG with html in it (foreignObject), as an image and in the page',
    site: {
      '/': html(
        '<img style="display:block" src="/html.svg"><div id="inline"></div><script>fetch("/html.svg").then((r) => r.text()).then((t) => (inline.innerHTML = t))</script>',
      ),
      '/html.svg': answer(
        'image/svg+xml',
        `<svg xmlns="http://www.w3.org/2000/svg" width="100" height="100" style="display:block"><foreignObject width="100" height="100"><div xmlns="http://www.w3.org/1999/xhtml" style="width:100px;height:100px;background:${green}"></div></foreignObject></svg>`,
      ),
    },
    options: { waitUntil: 'networkidle' },
    formats: ['png'],
    check: (seen) => seen.expectColumn(50, blocks(green, green)),
  },
  {
    name: 'images that are not there, refused, hung up on, broken, and hanging ones: counted, and not waited for too long',
    site: {
      '/': html(
        inScripts(
          `<img src="/404"><img src="http://127.0.0.1:9/x"><img src="/reset"><img src="/broken"><img src="http://no-such.invalid/x">
           <img src="/hang?1"><img src="/hang?2"><img style="${square}" src="/green.svg">`,
        ),
      ),
      '/reset': reset,
      '/hang': hang,
      '/broken': answer('image/png', greenPng.subarray(0, 40)),
      '/green.svg': svgAnswer(green),
    },
    options: { imageTimeout: 800 },
    formats: ['png'],
    check: (seen) => {
      expect(seen.report.images).toEqual({ loaded: 1, failed: 5, pending: 2 });
      expect(seen.report.softTimeouts).toEqual(['images']);
      expect(seen.report.timings.settleMs).toBeLessThan(3000);
      expect(seen.picture.share(green)).toBeGreaterThan(0.02);
    },
  },
  {
    name: 'one sprite behind many elements is one image',
    site: {
      '/': html(`<style>i{float:left;width:10px;height:10px;background:url(/s.svg)}</style>${'<i></i>'.repeat(200)}`),
      '/s.svg': svgAnswer(blue),
    },
    formats: ['png'],
    check: (seen) => {
      expect(seen.asked('/s.svg')).toBe(1);
      expect(seen.report.images).toEqual({ loaded: 1, failed: 0, pending: 0 });
    },
  },
];

void slow;
testCorpus(pages);
