import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { html, TestEngine, TestSite } from '../../harness/engine.ts';

let engine: TestEngine;
let site: TestSite;

/** Rows of 100 px, each of its own colour. */
const rows = (count: number, attributes = '') =>
  Array.from(
    { length: count },
    (_, row) => `<div ${attributes} style="height:100px;background:${rowColour(row)}"></div>`,
  ).join('');
const rowColour = (row: number) =>
  `#${[row % 256, row >> 8, 119].map((n) => n.toString(16).padStart(2, '0')).join('')}`;

const ids = Array.from({ length: 40 }, (_, index) => index);

beforeAll(async () => {
  const green = await sharp({ create: { width: 50, height: 50, channels: 3, background: '#00aa00' } })
    .png()
    .toBuffer();
  engine = await TestEngine.start();
  site = await TestSite.start({
    '/green.png': (_, response) => void response.writeHead(200, { 'content-type': 'image/png' }).end(green),
    '/short': html('<div style="height:100px;background:#0a0"></div>'),
    '/rows': html(rows(30)),
    '/lazy': html(
      ids
        .map(
          (id) => `<div style="height:200px"><img loading="lazy" width="50" height="50" src="/green.png?${id}"></div>`,
        )
        .join(''),
    ),
    '/lazy-by-script': html(
      ids
        .map((id) => `<div style="height:200px"><img width="50" height="50" data-src="/green.png?${id}"></div>`)
        .join('') +
        `<script>
          const seen = new IntersectionObserver((entries) => entries.forEach(({ isIntersecting, target }) => {
            if (isIntersecting) target.src = target.dataset.src;
          }));
          document.querySelectorAll('img').forEach((image) => seen.observe(image));
        </script>`,
    ),
    '/lazy-by-scroll': html(
      ids
        .map((id) => `<div style="height:200px"><img width="50" height="50" data-src="/green.png?${id}"></div>`)
        .join('') +
        `<script>
          const look = () => document.querySelectorAll('img:not([src])').forEach((image) => {
            if (image.getBoundingClientRect().top < innerHeight) image.src = image.dataset.src;
          });
          addEventListener('scroll', look); look();
        </script>`,
    ),
    '/reveal': html(
      ids.map(() => `<div style="height:200px;background:#0a0;opacity:0;transition:opacity 1s"></div>`).join('') +
        `<script>
          const seen = new IntersectionObserver((entries) => entries.forEach(({ isIntersecting, target }) => {
            target.style.opacity = isIntersecting ? 1 : 0;
          }), { threshold: 0.3 });
          document.querySelectorAll('div').forEach((part) => seen.observe(part));
        </script>`,
    ),
    '/bars': html(
      `<div style="position:sticky;top:0;height:40px;background:#f00"></div>
       <div style="position:fixed;left:0;right:0;bottom:0;height:30px;background:#00f"></div>${rows(30)}`,
    ),
    '/fixed-header': html(
      `<div style="position:fixed;top:0;left:0;right:0;height:40px;background:#f00"></div>${rows(30)}`,
    ),
    '/hiding-header': html(
      `<div id="bar" style="position:fixed;top:0;left:0;right:0;height:40px;background:#f00;transition:transform .3s"></div>${rows(30)}
       <script>let last = 0; addEventListener('scroll', () => {
         bar.style.transform = scrollY > last ? 'translateY(-100%)' : ''; last = scrollY;
       })</script>`,
    ),
    '/sections': html(
      `<style>section { height: 100vh } .min { min-height: 100vh; height: auto } .half { height: 50vh } .pad { padding-top: 25vh }</style>
       <section style="background:#f00"></section><section class="min" style="background:#0f0"></section>
       <section class="half" style="background:#00f"></section><section class="pad" style="background:#ff0;height:100px"></section>`,
    ),
    '/sections-by-script': html(
      `<section style="background:#f00"></section><section style="background:#0f0"></section><section style="background:#00f"></section>
       <script>
         const fit = () => document.querySelectorAll('section').forEach((part) => (part.style.height = innerHeight + 'px'));
         addEventListener('resize', fit); fit();
       </script>`,
    ),
    '/percent': html(
      `<style>html, body { height: 100% } .hero { height: 100%; background: #f00 }</style><div class="hero"></div>${rows(10)}`,
    ),
    '/fixed-background': html(
      `<div style="position:fixed;inset:0;z-index:-1;background:#0a0"></div><div style="height:3000px"></div>`,
    ),
    '/fixed-background-100vh': html(
      `<div style="position:fixed;top:0;width:100%;height:100vh;z-index:-1;background:#0a0"></div><div style="height:3000px"></div>`,
    ),
    '/orientation': html(
      `<style>body { background: #0a0 } @media (orientation: portrait) { body { background: #f00 } }
        @media (min-height: 1000px) { body { background: #00f } }</style><div style="height:3000px"></div>`,
    ),
    '/scroller': html(
      `<style>html, body { height: 100%; overflow: hidden } .shell { display: flex; flex-direction: column; height: 100vh }
        header { height: 50px; background: #f00 } main { flex: 1; overflow: auto }</style>
       <div class="shell"><header></header><main>${rows(30)}</main></div>`,
    ),
    '/scroller-nested': html(
      `<style>.a { height: 480px; display: flex } nav { width: 100px; background: #00f } .b { flex: 1; height: 100%; overflow: hidden }
        .c { height: 100%; overflow-y: scroll }</style>
       <div class="a"><nav></nav><div class="b"><div class="c">${rows(30)}</div></div></div>`,
    ),
    '/body-scrolls': html(
      `<style>html { overflow: hidden; height: 100% } body { height: 100%; overflow: auto }</style>${rows(30)}`,
    ),
    '/smooth': html(`<style>html { scroll-behavior: smooth }</style>${rows(60)}<div id="end">end</div>
       <script>window.scrollTo = () => {}; Element.prototype.scrollTo = () => {}; window.requestAnimationFrame = () => 0;
        const seen = new IntersectionObserver((entries) => entries.forEach(({ isIntersecting }) => {
          if (isIntersecting) document.title = 'end seen';
        })); seen.observe(end);</script>`),
    '/endless': html(
      `<div id="list">${rows(10)}</div><script>
         addEventListener('scroll', () => {
           if (scrollY + innerHeight > document.body.scrollHeight - 50) list.insertAdjacentHTML('beforeend', '<div style="height:1000px">more</div>');
         });
       </script>`,
    ),
    '/grows-twice': html(
      `<div style="height:1000px;background:#0a0"></div><div id="end"></div><script>
         let times = 0;
         new IntersectionObserver(async ([entry]) => {
           if (!entry.isIntersecting || times >= 2) return;
           times += 1;
           await fetch('/short');
           end.insertAdjacentHTML('beforebegin', '<div style="height:1000px;background:#0a0"></div>');
         }).observe(end);
       </script>`,
    ),
    '/frame': html(
      `<body style="background:#0a0"><div style="height:600px"></div><img loading="lazy" width="50" height="50" src="/green.png?frame">`,
    ),
    '/frames': (request, response) =>
      void response.writeHead(200, { 'content-type': 'text/html' }).end(
        html(
          `<div style="height:2000px"></div>
           <iframe loading="lazy" style="display:block;border:0;width:100%;height:700px"
             src="http://localhost:${request.socket.localPort}/frame"></iframe>`,
        ),
      ),
    '/content-visibility': html(
      ids
        .map(
          () =>
            '<div style="content-visibility:auto;contain-intrinsic-size:auto 50px"><div style="height:150px;background:#0a0"></div></div>',
        )
        .join(''),
    ),
    '/attached': html(
      `<style>section { height: 100vh; background: linear-gradient(#0a0, #0a0) fixed } p { margin: 0; height: 600px }</style>
       <section></section><p></p><section></section>`,
    ),
    '/attached-body': html(
      `<style>body { background: url(/green.png) fixed }</style><div style="height:3000px"></div>`,
    ),
    '/wide': html(`<div style="width:2000px;height:900px;background:#0a0"></div>`),
    '/quirks': `<style>body{margin:0}</style>${rows(30)}`,
  });
});

afterAll(async () => {
  await engine.close();
  await site.close();
});

const whole = (path: string) => engine.shoot(site.url(path), { isFullPage: true });

test('a short page is as tall as the viewport', async () => {
  const { picture, report } = await whole('/short');
  expect(picture.size).toBe('640x480');
  expect(report.truncated).toBe(false);
});

test.for(['/rows', '/quirks', '/body-scrolls'])('%s: every row is there, once, in order', async (path) => {
  const { picture, report } = await whole(path);
  expect(picture.size).toBe('640x3000');
  for (let row = 0; row < 30; row += 1) expect(picture.at(320, row * 100 + 50)).toBe(rowColour(row));
  expect(report.truncated).toBe(false);
});

test.for(['/lazy', '/lazy-by-script', '/lazy-by-scroll'])('%s: all images are there', async (path) => {
  const { picture, report } = await whole(path);
  expect(report.images).toEqual({ loaded: 40, failed: 0, pending: 0 });
  expect(picture.height).toBe(8000);
  for (const id of ids) expect(picture.at(25, id * 200 + 25)).toBe('#00aa00');
});

test('what appears on scrolling has appeared', async () => {
  const { picture } = await whole('/reveal');
  for (const id of ids) expect(picture.at(320, id * 200 + 100)).toBe('#00aa00');
});

describe('bars', () => {
  test('sticky and fixed ones stand once', async () => {
    const { picture } = await whole('/bars');
    expect(picture.height).toBe(3040);
    expect(picture.rowsOf(320, '#ff0000')).toEqual(Array.from({ length: 40 }, (_, y) => y));
    expect(picture.rowsOf(320, '#0000ff')).toEqual(Array.from({ length: 30 }, (_, y) => 3010 + y));
  });

  test.for(['/fixed-header', '/hiding-header'])('%s stands at the top', async (path) => {
    const { picture } = await whole(path);
    expect(picture.rowsOf(320, '#ff0000')).toEqual(Array.from({ length: 40 }, (_, y) => y));
  });
});

describe('the height of the viewport', () => {
  test('is what vh still means', async () => {
    const { picture } = await whole('/sections');
    expect(picture.height).toBe(480 + 480 + 240 + 220);
    expect([100, 700, 1100, 1300].map((y) => picture.at(320, y))).toEqual(['#ff0000', '#00ff00', '#0000ff', '#ffff00']);
  });

  test('is what innerHeight meant to a script', async () => {
    const { picture } = await whole('/sections-by-script');
    expect(picture.height).toBe(3 * 480);
    expect(picture.at(320, 1000)).toBe('#0000ff');
  });

  test('is what 100% means', async () => {
    const { picture } = await whole('/percent');
    expect(picture.height).toBe(480 + 1000);
    expect(picture.rowsOf(320, '#ff0000')).toHaveLength(480);
  });

  test.for(['/fixed-background', '/fixed-background-100vh'])('%s covers all', async (path) => {
    const { picture } = await whole(path);
    expect(picture.height).toBe(3000);
    expect(picture.share('#00aa00')).toBe(1);
  });

  test('media queries that ask for it keep their answer', async () => {
    const { picture } = await whole('/orientation');
    expect(picture.share('#00aa00')).toBe(1);
  });
});

describe('scrollers that hold the page', () => {
  test('an app shell', async () => {
    const { picture } = await whole('/scroller');
    expect(picture.height).toBe(3050);
    expect(picture.rowsOf(320, '#ff0000')).toHaveLength(50);
    for (let row = 0; row < 30; row += 1) expect(picture.at(320, 50 + row * 100 + 50)).toBe(rowColour(row));
  });

  test('one inside of others, with heights in px', async () => {
    const { picture } = await whole('/scroller-nested');
    expect(picture.height).toBe(3000);
    expect(picture.at(50, 2990)).toBe('#0000ff');
    for (let row = 0; row < 30; row += 1) expect(picture.at(320, row * 100 + 50)).toBe(rowColour(row));
  });
});

test('smooth scrolling and overridden functions do not matter', async () => {
  const { report, picture } = await whole('/smooth');
  expect(report.title).toBe('end seen');
  expect(picture.height).toBeGreaterThan(6000);
  expect(picture.at(320, 50)).toBe(rowColour(0));
});

test('a page that grows for ever is followed for a while and says so', async () => {
  const { report, picture } = await whole('/endless');
  expect(report.truncated).toBe(true);
  expect(picture.height).toBeGreaterThan(2000);
  expect(picture.height).toBeLessThan(40_000);
});

test('a page that grows and ends is whole', async () => {
  const { report, picture } = await whole('/grows-twice');
  expect(picture.height).toBe(3000);
  expect(picture.share('#00aa00')).toBe(1);
  expect(report.truncated).toBe(false);
});

test('a lazy frame of another site is there', async () => {
  const { picture } = await whole('/frames');
  expect(picture.height).toBe(2700);
  expect(picture.share('#00aa00')).toBeGreaterThan(700 / 2700 - 0.01);
});

test('content that is laid out when it comes into sight is there', async () => {
  const { picture } = await whole('/content-visibility');
  expect(picture.height).toBe(40 * 150);
  expect(picture.share('#00aa00')).toBe(1);
});

test('backgrounds that are attached to the viewport cover all', async () => {
  const sections = (await whole('/attached')).picture;
  expect(sections.height).toBe(480 + 600 + 480);
  expect(sections.rowsOf(320, '#00aa00')).toHaveLength(960);
  expect((await whole('/attached-body')).picture.share('#00aa00')).toBe(1);
});

test('the picture is as wide as the viewport', async () => {
  const { picture } = await whole('/wide');
  expect(picture.size).toBe('640x900');
});

test('scale multiplies both sides', async () => {
  const options = { isFullPage: true, viewport: { deviceScaleFactor: 2 } };
  const { picture } = await engine.shoot(site.url('/rows'), options);
  expect(picture.size).toBe('1280x6000');
  expect(picture.at(640, 5900)).toBe(rowColour(29));
});
