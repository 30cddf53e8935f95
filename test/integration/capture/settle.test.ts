import type { ServerResponse } from 'node:http';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { own } from '../../../services/renderer/page/scripts/own.ts';
import { cssMayUse } from '../../../services/renderer/page/scripts/styles.ts';
import { untilLaidOut, untilTimersRan, waits } from '../../../services/renderer/page/scripts/waits.ts';
import { html, sharedEngine, type TestEngine, TestSite } from '../../harness/engine.ts';

let engine: TestEngine;
let site: TestSite;
let green: Buffer;

/** A page whose box turns from red to green some time after it has loaded. */
const turning = (ms: number) =>
  html(
    `<div id="box" style="height:200px;background:#c00"></div>
     <script>addEventListener('load', () => setTimeout(() => (box.style.background = '#0a0'), ${ms}))</script>`,
  );

/** Delay of an image that a timer inserts, and start of a busy period of the page, in ms after load. */
const timers = [
  [10, 9],
  [18, 15],
  [18, 17],
] as const;

const timed = (timerMs: number, busyFromMs: number) =>
  html(
    `<div id="box" style="width:50px;height:50px;background:#c00"></div>
     <script>
       const busy = () => { for (const end = performance.now() + 60; performance.now() < end; ); };
       addEventListener('load', () => {
         setTimeout(() => (box.innerHTML = '<img style="display:block" src="/soon.png">'), ${timerMs});
         setTimeout(busy, ${busyFromMs});
       });
     </script>`,
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
  engine = await sharedEngine();
  site = await TestSite.start({
    '/now.png': image(0),
    '/late.png': image(20_000),
    '/soon.png': image(200),
    ...Object.fromEntries(
      timers.map(([timerMs, busyFromMs]) => [`/timed-${timerMs}-${busyFromMs}`, timed(timerMs, busyFromMs)]),
    ),
    // A script inserts these images after load.
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
    // The first request never ends. The second one is repeated endlessly.
    '/poll-held': html(`<script>fetch('/news')</script>`),
    '/news': () => undefined,
    // At shorter intervals, requests would overlap on a busy machine, and count as one that does not end.
    '/poll-often': html(`<script>setInterval(() => fetch('/now.png'), 200)</script>`),
    '/delay-0': turning(15_000),
    '/delay-2000': turning(1000),
  });
});

afterAll(() => site.close());

describe('images', () => {
  test('are not waited for at all with imageTimeout 0', async () => {
    const { report } = await engine.shoot(site.url('/scripted?late.png'), { imageTimeout: 0 });
    expect(report.images.pending).toBe(1);
    expect(report.softTimeouts).toEqual([]);
  });

  test.each(timers)(
    'inserted by a timer %d ms after load are waited for, on a page that is busy from %d ms on',
    { tags: 'long' },
    async (timerMs, busyFromMs) => {
      for (let attempt = 0; attempt < 3; attempt += 1) {
        const { picture, report } = await engine.shoot(site.url(`/timed-${timerMs}-${busyFromMs}`), {
          imageTimeout: 12_000,
        });
        expect(picture.at(25, 25)).toBe('#00aa00');
        expect(report.images).toEqual({ loaded: 1, failed: 0, pending: 0 });
      }
    },
  );

  test('of all kinds count: the visible ones for a viewport, all for a full page', async () => {
    const inSight = await engine.shoot(site.url('/kinds'));
    expect(inSight.report.images).toEqual({ loaded: 6, failed: 1, pending: 0 });
    const whole = await engine.shoot(site.url('/kinds'), { isFullPage: true });
    expect(whole.report.images).toEqual({ loaded: 7, failed: 1, pending: 0 });
  });
});

test.each([0, 60])(
  'a wait for timers ends after the timers that are due before it, on a page that is busy for %d ms',
  { tags: 'long' },
  async (busyMs) => {
    // The wait runs in the page, so that it starts exactly at the load event.
    const script = `
    const waits = { sleep: ${waits.sleep.toString()} };
    const scriptsHaveEnded = () => false;
    const untilTimersRan = ${untilTimersRan.toString()};
    const order = [];
    addEventListener('load', () => {
      for (const ms of [0, 1, 10, 19]) setTimeout(() => order.push(ms), ms);
      void untilTimersRan(20).then(() => { order.push('ours'); document.title = order.join(); });
      for (const end = performance.now() + ${busyMs}; performance.now() < end; );
    });`;
    const { report } = await engine.render({ kind: 'html', html: html(`<script>${script}</script>`) }, { delay: 500 });
    expect(report.title).toBe('0,1,10,19,ours');
  },
);

test('boxes laid out only when visible have the height of their contents after the wait', async () => {
  // The boxes are measured right after the insertion, before the page can be drawn with them.
  const box =
    '<div style="content-visibility:auto;contain-intrinsic-size:auto 20px"><p style="margin:0;height:100px"></div>';
  const script = `
    const waits = { waitForIntersectionObservers: ${waits.waitForIntersectionObservers.toString()} };
    const own = ${own.toString()};
    const pageState = {};
    const cssMayUse = ${cssMayUse.toString()};
    const untilLaidOut = ${untilLaidOut.toString()};
    addEventListener('load', async () => {
      list.innerHTML = ${JSON.stringify(box.repeat(3))};
      const before = list.offsetHeight;
      await untilLaidOut(5000);
      document.title = [before, list.offsetHeight].join();
    });`;
  const { report } = await engine.render(
    { kind: 'html', html: html(`<div id="list"></div><script>${script}</script>`) },
    { delay: 500 },
  );
  expect(report.title).toBe('60,300');
});

describe('a request of a script', () => {
  test('is waited for, but for at most 1.5 s', async () => {
    const { report } = await engine.shoot(site.url('/poll-held'));
    expect(report.softTimeouts).toEqual([]);
    expect(report.timings.settleMs).toBeGreaterThan(1450);
    expect(report.timings.settleMs).toBeLessThan(10_000);
  });

  test.each([
    ['again and again does not hold the page', '/poll-often', 'load'],
    ['is not waited for with domcontentloaded', '/poll-held', 'domcontentloaded'],
  ] as const)('%s', { tags: 'long' }, async (_, path, waitUntil) => {
    const held = await engine.shoot(site.url('/poll-held'));
    const { report } = await engine.shoot(site.url(path), { waitUntil });
    expect(report.timings.settleMs).toBeLessThan(held.report.timings.settleMs - 250);
  });
});

describe('delay', () => {
  test('of 0 is no delay', async () => {
    const { picture } = await engine.shoot(site.url('/delay-0'));
    expect(picture.at(100, 100)).toBe('#cc0000');
  });

  test('is waited for after load', async () => {
    const { picture, report } = await engine.shoot(site.url('/delay-2000'), { delay: 2000 });
    expect(picture.at(100, 100)).toBe('#00aa00');
    expect(report.timings.settleMs).toBeGreaterThan(1990);
  });
});
