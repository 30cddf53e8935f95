import { afterAll, beforeAll, expect, test } from 'vitest';
import { html, TestSite, type ShotOptions } from '../harness/engine.ts';
import { readPdf } from '../harness/pdf.ts';
import { rasterPage } from '../harness/pdf-raster.ts';
import { corpusEngine } from './corpus.ts';

/** A clock with milliseconds, random boxes, animations of each kind, and canvases that frame callbacks draw. */
const moving = `
  <style>
    @keyframes turn { to { transform: rotate(1turn) } }
    @keyframes pulse { from { opacity: 0 } }
    .turning { width: 80px; height: 20px; background: #0055aa; animation: turn 1.3s linear infinite }
    .pulsing { animation: pulse 0.9s infinite alternate }
    .appearing { animation: pulse 0.3s }
  </style>
  <pre id="clock"></pre><pre id="random"></pre>
  <div class="turning"></div><p class="pulsing">pulsing</p><p class="appearing">appearing</p><div id="web">web</div>
  <svg width="60" height="20"><rect width="20" height="20"><animate attributeName="x" to="40" dur="0.7s" repeatCount="indefinite"/></rect></svg>
  <canvas id="counting" width="300" height="10"></canvas><canvas id="timed" width="300" height="10"></canvas>
  <canvas id="throttled" width="300" height="10"></canvas><canvas id="awaiting" width="300" height="10"></canvas>
  <script>
    setInterval(() => {
      const now = new Date();
      clock.textContent = [now.toISOString(), Date.now(), Date(), Math.round(performance.timeOrigin + performance.now()),
        new Intl.DateTimeFormat('en', { timeStyle: 'medium', timeZone: 'UTC' }).format()].join('\\n');
    }, 7);
    random.textContent = [1, 2, 3].map(() => Math.random()).join(' ');
    web.animate([{ marginLeft: '0' }, { marginLeft: '200px' }], { duration: 1100, iterations: Infinity });
    const draw = (id, x) => {
      const context = document.getElementById(id).getContext('2d');
      context.clearRect(0, 0, 300, 10);
      context.fillRect(x % 300, 0, 20, 10);
    };
    let count = 0;
    requestAnimationFrame(function loop() { draw('counting', (count += 7)); requestAnimationFrame(loop); });
    const start = performance.now();
    requestAnimationFrame(function loop(at) { draw('timed', (at - start) / 10 + (Date.now() % 1000) / 100); requestAnimationFrame(loop); });
    let throttled = 0;
    (function loop() { draw('throttled', (throttled += 11)); setTimeout(() => requestAnimationFrame(loop), 5); })();
    (async () => { for (let x = 0; ; x += 5) { draw('awaiting', x); await new Promise(requestAnimationFrame); } })();
  </script>`;

/** Each entry tries to get the real time in another way, and reports the years that it has seen. */
const hostile = `<iframe id="inner"></iframe><pre id="years"></pre><script>
  const inner = document.getElementById('inner').contentWindow;
  const created = document.body.appendChild(document.createElement('iframe')).contentWindow;
  const Native = Date;
  Proxy = Reflect = undefined;
  Function.prototype.apply = Function.prototype.call = () => new Native(9e12);
  Object.prototype.get = Object.prototype.construct = Object.prototype.apply = () => new Native(9e12);
  const yearOf = (date) => new Native(date).getUTCFullYear();
  const years = [
    yearOf(new Native()), yearOf(new Native.prototype.constructor()), yearOf(new (new Native(0)).constructor()),
    yearOf(inner.Date.now()), yearOf(new created.Date()), yearOf(Native.now()),
    yearOf(performance.timeOrigin + performance.now()), new Intl.DateTimeFormat('en', { year: 'numeric' }).format(),
    new Intl.DateTimeFormat('en', { year: 'numeric' }).formatToParts()[0].value,
    globalThis.Temporal ? Temporal.Now.plainDateISO('UTC').year : 2033,
    globalThis.Temporal ? yearOf(Temporal.Now.instant().epochMilliseconds) : 2033,
  ];
  delete window.Date; delete performance.now; delete Native.now;
  years.push(window.Date === undefined ? 2033 : yearOf(new window.Date()));
  window.Date = class extends Native {};
  years.push(yearOf(new window.Date()));
  document.getElementById('years').textContent = 'years: ' + [...new Set(years.map(String))].join();
</script>`;

let site: TestSite;
beforeAll(async () => {
  site = await TestSite.start({
    '/page': (_, response) => {
      response.setHeader('content-type', 'text/html; charset=utf-8');
      const frame = `<iframe width="600" height="400" src="${site.url('/frame', 'other.test')}"></iframe>`;
      response.end(html(`${moving}<input autofocus value="focused">${frame}`));
    },
    '/frame': html(moving),
    '/hostile': html(hostile),
    '/busy': html(
      `<script>const end = performance.now() + 30; while (performance.now() < end); document.write('done')</script>`,
    ),
  });
});
afterAll(() => site.close());

const freeze = { time: '2033-05-18T03:33:20.000Z', random: 7 };
const viewport = { width: 640, height: 900 };
const render = async (path: string, options: ShotOptions) =>
  (await corpusEngine()).render(site.url(path), { viewport, ...options });

async function expectEqualPictures(format: 'png' | 'webp'): Promise<void> {
  const [one, other] = [
    await render('/page', { freeze, format }),
    await render('/page', { freeze, format, delay: 777 }),
  ];
  expect(one.bytes.equals(other.bytes)).toBe(true);
  expect(one.report.softTimeouts).toEqual([]);
}

test('two captures of a moving page are equal byte by byte: png', () => expectEqualPictures('png'));

test('two captures of a moving page are equal byte by byte: webp', { tags: 'long' }, () => expectEqualPictures('webp'));

test('two PDFs of a moving page have the same content', { tags: 'long' }, async () => {
  const options = { freeze, format: 'pdf' } as const;
  const [one, other] = [await render('/page', options), await render('/page', { ...options, delay: 777 })];
  expect((await readPdf(one.bytes)).text).toContain('2033-05-18T03:33:20.000Z');
  expect(await readPdf(one.bytes)).toEqual(await readPdf(other.bytes));
  const [pixels, others] = [await rasterPage(one.bytes), await rasterPage(other.bytes)];
  expect(pixels).toEqual(others);
});

test('without freeze, two captures of the page differ', async () => {
  const [one, other] = [await render('/page', { format: 'png' }), await render('/page', { format: 'png' })];
  expect(one.bytes.equals(other.bytes)).toBe(false);
});

test('the time and the seed are those of the request', async () => {
  const texts = await Promise.all(
    [freeze, { ...freeze, random: 8 }, freeze].map(
      async (each) => (await render('/page', { freeze: each, extract: ['text'] })).extracted?.text,
    ),
  );
  expect(texts[0]).toBe(texts[2]);
  expect(texts[0]).not.toBe(texts[1]);
  for (const part of ['2033-05-18T03:33:20.000Z', '2000000000000', '3:33:20']) expect(texts[0]).toContain(part);
});

test('a page finds no other time', async () => {
  const { extracted } = await render('/hostile', { freeze, extract: ['text'] });
  expect(extracted?.text).toContain('years: 2033');
  expect(extracted?.text).not.toContain('2033,');
});

test('a page that waits for the clock to advance continues', async () => {
  const { extracted } = await render('/busy', { freeze, extract: ['text'] });
  expect(extracted?.text).toContain('done');
});
