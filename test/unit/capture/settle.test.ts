import type { ServerResponse } from 'node:http';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { html, TestEngine, TestSite } from '../../harness/engine.ts';

let engine: TestEngine;
let site: TestSite;
let green: Buffer;

/** A page whose box turns from red to green some time after it has loaded. */
const turning = (ms: number) =>
  html(
    `<div id="box" style="height:200px;background:#c00"></div>
     <script>addEventListener('load', () => setTimeout(() => (box.style.background = '#0a0'), ${ms}))</script>`,
  );

beforeAll(async () => {
  green = await sharp({ create: { width: 50, height: 50, channels: 3, background: '#00aa00' } })
    .png()
    .toBuffer();
  const image = (ms: number) => (_: unknown, response: ServerResponse) => {
    setTimeout(
      () => response.writeHead(200, { 'content-type': 'image/png', 'cache-control': 'no-store' }).end(green),
      ms,
    );
  };
  engine = await TestEngine.start();
  site = await TestSite.start({
    '/now.png': image(0),
    '/soon.png': image(600),
    '/late.png': image(20_000),
    '/late.woff2': () => undefined,
    // Images that are put in after load, as scripts do.
    '/scripted': html(
      `<div id="box"></div><script>
        addEventListener('load', () => (box.innerHTML = '<img style="display:block" src="/' + location.search.slice(1) + '">'));
      </script>`,
    ),
    '/kinds': html(
      `<img src="/now.png"><img src="/missing.png"><img src="data:image/png;base64,${green.toString('base64')}">
       <picture><source srcset="/now.png?source"><img src="/missing.png"></picture>
       <img srcset="/now.png?1x 1x, /now.png?2x 2x"><img alt="no source">
       <div style="width:9px;height:9px;background:url(/now.png?background)"></div>
       <div style="display:none"><img src="/missing.png?hidden"></div>
       <div id="host"></div><script>host.attachShadow({ mode: 'open' }).innerHTML = '<img src="/now.png?shadow">'</script>
       <div style="position:absolute;top:3000px"><img src="/now.png?below"></div>`,
    ),
    '/background': html(`<div id="box" style="height:100px"></div><script>
       addEventListener('load', () => (box.style.background = 'url(/soon.png)'))</script>`),
    '/delay-0': turning(1500),
    '/delay-2000': turning(1000),
    '/fade': html(
      `<style>@keyframes in { from { opacity: 0 } } div { height: 100px; background: #0a0; animation: in 60s }
         .later { animation-delay: 30s; animation-fill-mode: backwards } .turns { animation: spin 5s infinite }
         @keyframes spin { to { rotate: 1turn } }</style>
       <div></div><div class="later"></div><div class="turns" style="width:100px"></div>
       <div id="moves" style="transition: opacity 60s; opacity: 0; animation: none"></div>
       <script>requestAnimationFrame(() => requestAnimationFrame(() => (moves.style.opacity = 1)))</script>`,
    ),
    // Draws itself in over 600 ms, or for ever.
    '/canvas': html(
      `<canvas id="chart" width="600" height="100"></canvas><script>
        const context = chart.getContext('2d'); const begin = performance.now();
        const draw = () => {
          const done = Math.min(1, (performance.now() - begin) / 600);
          context.fillStyle = location.search && Math.random() < 0.5 ? '#0b0' : '#0a0';
          context.fillRect(0, 0, 600 * done, 100);
          if (done < 1 || location.search) requestAnimationFrame(draw);
        };
        draw();
      </script>`,
    ),
    '/font': html(
      `<style>@font-face { font-family: late; src: url(/late.woff2) } p { font: 60px late }</style><p>Text</p>`,
    ),
  });
});

afterAll(async () => {
  await engine.close();
  await site.close();
});

describe('images', () => {
  test('are waited for, and no longer than it takes', async () => {
    const { report, picture } = await engine.shoot(site.url('/scripted?soon.png'), { imageTimeout: 15_000 });
    expect(report.images).toEqual({ loaded: 1, failed: 0, pending: 0 });
    expect(report.softTimeouts).toEqual([]);
    expect(picture.at(25, 25)).toBe('#00aa00');
    expect(report.timings.settleMs).toBeLessThan(8000);
  });

  test('are not waited for when their time is up', async () => {
    const { report, picture } = await engine.shoot(site.url('/scripted?late.png'), { imageTimeout: 700 });
    expect(report.images).toEqual({ loaded: 0, failed: 0, pending: 1 });
    expect(report.softTimeouts).toEqual(['images']);
    expect(picture.at(25, 25)).toBe('#ffffff');
    expect(report.timings.settleMs).toBeGreaterThan(650);
    expect(report.timings.settleMs).toBeLessThan(5000);
  });

  test('are not waited for at all with imageTimeout 0', async () => {
    const { report } = await engine.shoot(site.url('/scripted?late.png'), { imageTimeout: 0 });
    expect(report.images.pending).toBe(1);
    expect(report.softTimeouts).toEqual([]);
    expect(report.timings.settleMs).toBeLessThan(2000);
  });

  test('that fail are failed at once', async () => {
    const { report } = await engine.shoot(site.url('/scripted?missing.png'), { imageTimeout: 15_000 });
    expect(report.images).toEqual({ loaded: 0, failed: 1, pending: 0 });
    expect(report.timings.settleMs).toBeLessThan(8000);
  });

  test('of CSS backgrounds count', async () => {
    const { report, picture } = await engine.shoot(site.url('/background'));
    expect(report.images.loaded).toBe(1);
    expect(picture.at(25, 25)).toBe('#00aa00');
  });

  test('of all kinds count, those in sight for a viewport and all for a whole page', async () => {
    const inSight = await engine.shoot(site.url('/kinds'));
    expect(inSight.report.images).toEqual({ loaded: 6, failed: 1, pending: 0 });
    const whole = await engine.shoot(site.url('/kinds'), { isFullPage: true });
    expect(whole.report.images).toEqual({ loaded: 7, failed: 1, pending: 0 });
  });
});

describe('delay', () => {
  test('0 is none', async () => {
    const { picture } = await engine.shoot(site.url('/delay-0'));
    expect(picture.at(100, 100)).toBe('#cc0000');
  });

  test('is waited for after load, and nothing beyond', async () => {
    const { picture, report } = await engine.shoot(site.url('/delay-2000'), { delay: 2000 });
    expect(picture.at(100, 100)).toBe('#00aa00');
    expect(report.timings.settleMs).toBeGreaterThan(1990);
    expect(report.timings.settleMs).toBeLessThan(5000);
  });
});

test('what fades in is there; what goes on for ever goes on', async () => {
  const { picture } = await engine.shoot(site.url('/fade'), { delay: 200 });
  expect(picture.at(300, 50)).toBe('#00aa00');
  expect(picture.at(300, 150)).toBe('#00aa00');
  expect(picture.at(300, 350)).toBe('#00aa00');
});

test('a chart that draws itself in is complete', async () => {
  const { picture } = await engine.shoot(site.url('/canvas'));
  expect(picture.at(590, 50)).toBe('#00aa00');
});

test('a canvas that never rests is not waited for for long', async () => {
  const { report } = await engine.shoot(site.url('/canvas?ever'));
  expect(report.timings.settleMs).toBeLessThan(4000);
});

test('a font that never comes is not waited for, and the text is there', async () => {
  const options = { waitUntil: 'domcontentloaded' } as const;
  const { picture, report } = await engine.shoot(site.url('/font'), options);
  expect(report.softTimeouts).toEqual(['fonts']);
  expect(picture.share('#ffffff')).toBeLessThan(1);
});
