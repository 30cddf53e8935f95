import sharp from 'sharp';
import { expect } from 'vitest';
import { html } from '../harness/engine.ts';
import { answer, hang, reset, svg, svgAnswer } from './answers.ts';
import { testCorpus, type HardPage } from './corpus.ts';

const green = '#00aa00';
const square = 'display:block;width:100px;height:100px';
const blue = '#0000cc';
const plain = (width: number, height: number, background = green) =>
  sharp({ create: { width, height, channels: 3, background } });
const greenPng = await plain(50, 50).png().toBuffer();
const redPng = await plain(50, 50, '#cc0000').png().toBuffer();
const large = await plain(9000, 6000).png().toBuffer();
/** Two frames, green and then red; each is shown for a minute. */
const animation = () => {
  const frames = [greenPng, redPng];
  return sharp(frames, { join: { animated: true } });
};
const animatedGif = await animation()
  .gif({ delay: [60_000, 60_000] })
  .toBuffer();
const animatedWebp = await animation()
  .webp({ delay: [60_000, 60_000], lossless: true })
  .toBuffer();

/** Pixels of blocks of 100 px, below each other. */
const blocks = (...colors: string[]) => colors.map((color, index) => [index * 100 + 50, color] as const);
const inScripts = (body: string) =>
  `<div id="box"></div><script>addEventListener('load', () => (box.innerHTML = ${JSON.stringify(body)}))</script>`;

const candidates = (deviceScaleFactor: 1 | 2 | 3): HardPage => ({
  name: `srcset, sizes and image-set at scale ${deviceScaleFactor}: the right images, each requested once`,
  site: {
    '/': html(
      `<img style="${square}" srcset="/a1 1x, /a2 2x, /a3 3x" src="/a0">
       <img style="${square}" srcset="/w100 100w, /w200 200w, /w300 300w" sizes="100px">
       <div style="${square};background:image-set(url(/s1) 1x, url(/s2) 2x, url(/s3) 3x)"></div>`,
    ),
    [`/a${deviceScaleFactor}`]: svgAnswer(green),
    [`/w${deviceScaleFactor}00`]: svgAnswer(green),
    [`/s${deviceScaleFactor}`]: svgAnswer(green),
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

/** Ways to add an image, each in a square of 100 px. */
const lateKinds: Readonly<Record<string, (address: string) => string>> = {
  img: (address) => `<img style="${square}" src="${address}">`,
  background: (address) => `<div style="${square};background:url(${address})"></div>`,
  before: (address) => `<style>.before::before{content:"";${square};background:url(${address})}</style>`,
  after: (address) => `<style>.after::after{content:url(${address});display:block}</style>`,
  mask: (address) => `<div style="${square};background:${green};mask:url(${address})"></div>`,
  border: (address) => `<div style="width:0;height:0;border:50px solid;border-image:url(${address}) 50"></div>`,
  bullet: (address) => `<ul style="margin:0;padding:0;list-style:url(${address}) inside;font-size:0"><li></ul>`,
  svg: (address) => `<svg style="${square}"><image href="${address}" width="100" height="100"/></svg>`,
  button: (address) => `<input type="image" style="${square}" src="${address}">`,
  poster: (address) => `<video style="${square}" poster="${address}"></video>`,
  frame: (address) =>
    `<iframe style="${square};border:0" srcdoc='<body style="margin:0"><img src="${address}">'></iframe>`,
  frameInFrame: (address) =>
    `<iframe style="${square};border:0" srcdoc='<body style="margin:0"><iframe style="border:0" srcdoc="<body style=margin:0><img src=${address}>">'></iframe>`,
};

const pages: readonly HardPage[] = [
  candidates(1),
  candidates(2),
  candidates(3),
  {
    name: 'images of every kind that a script adds after load: the capture waits, and each is requested once',
    site: {
      '/': html(
        inScripts(
          Object.entries(lateKinds)
            .map(([name, image]) => `<div class="cell ${name}">${image(`/${name}.svg`)}</div>`)
            .join(''),
        ),
        '<style>.cell { float: left; width: 100px; height: 100px; overflow: hidden }</style>',
      ),
      ...Object.fromEntries(Object.keys(lateKinds).map((name) => [`/${name}.svg`, svgAnswer(green, 600)])),
    },
    options: { delay: 100, imageTimeout: 10_000 },
    formats: ['png', 'pdf'],
    check: (seen) => {
      const kinds = Object.keys(lateKinds);
      kinds.forEach((name, index) => {
        const columns = seen.format === 'pdf' ? 7 : 6;
        const [x, y] = [(index % columns) * 100 + 50, Math.floor(index / columns) * 100 + 50];
        expect(seen.picture.at(x, y), name).toBe(green);
        expect(seen.asked(`/${name}.svg`), name).toBe(1);
      });
      expect(seen.report.images).toEqual({ loaded: kinds.length, failed: 0, pending: 0 });
    },
  },
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
    name: 'images of SVG without an address, and with an invalid one',
    site: {
      '/': html(
        `<div style="width:100px;height:100px;background:${green}"></div><svg width="100" height="100"><image width="9" height="9"/><image width="9" height="9" href="https://{{cdn}}/x.png"/></svg>`,
      ),
    },
    formats: ['png'],
    check: (seen) => {
      seen.expectColor(50, 50, green);
      expect(seen.asked('/')).toBe(1);
      expect(seen.report.images.loaded).toBe(0);
    },
  },
  {
    name: 'SVG with html in it (foreignObject), as an image and in the page',
    isLong: true,
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
    name: 'missing, refused, reset, broken and hanging images are counted, and do not delay the capture for long',
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
    // The delay is longer than a busy machine needs for the failures.
    options: { imageTimeout: 2000 },
    formats: ['png'],
    check: (seen) => {
      expect(seen.report.images).toEqual({ loaded: 1, failed: 5, pending: 2 });
      expect(seen.report.softTimeouts).toEqual(['images']);
      expect(seen.report.timings.settleMs).toBeGreaterThan(1950);
      expect(seen.report.timings.settleMs).toBeLessThan(8000);
      expect(seen.picture.share(green)).toBeGreaterThan(0.02);
    },
  },
  {
    name: 'animated images (GIF, WebP) show their first frame',
    site: {
      '/': html(`<img style="${square}" src="/a.gif"><img style="${square}" src="/a.webp">`),
      '/a.gif': answer('image/gif', animatedGif),
      '/a.webp': answer('image/webp', animatedWebp),
    },
    check: (seen) => seen.expectColumn(50, blocks(green, green)),
  },
  {
    name: 'one sprite for many elements is one image',
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

testCorpus(pages);
