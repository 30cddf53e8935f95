import { expect } from 'vitest';
import type { Handler } from '../harness/engine.ts';
import { html } from '../harness/engine.ts';
import { answer, held, hold, marked } from './answers.ts';
import { testCorpus, type HardPage } from './corpus.ts';

const green = '#00aa00';
const paint = `document.body.style.background = '${marked(green)}'`;
const isGreen: HardPage['check'] = (seen) => seen.expectColor(300, 300, green);
const inTime: HardPage['check'] = async (seen) => {
  await isGreen(seen);
  expect(seen.report.timings.navigateMs).toBeLessThan(8000);
};

/** A response that never ends, in pieces. */
const stream =
  (type: string, piece: string, first = ''): Handler =>
  (_, response) => {
    response.writeHead(200, { 'content-type': type }).write(first);
    const timer = setInterval(() => response.write(piece), 100);
    response.on('close', () => clearInterval(timer));
  };

/**
 * Responds immediately until it has received this number of requests. Then it blocks this process, which is also the renderer's, for longer
 * than the idle time before it receives the next request. From then on some requests are always open.
 */
function standStillAfter(count: number): Handler {
  const [atOnce, late] = [answer('text/plain', 'x'), answer('text/plain', 'x', { afterMs: 1000 })];
  let requests = 0;
  return (request, response) => {
    requests += 1;
    if (requests === count) setTimeout(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 800), 50);
    (requests > count ? late : atOnce)(request, response);
  };
}

const pages: readonly HardPage[] = [
  {
    name: 'an app that renders fetched data, with networkidle',
    site: {
      '/': html(
        `<script>fetch('/api').then((r) => r.json()).then(() => fetch('/api?2')).then(() => { ${paint} })</script>`,
      ),
      '/api': answer('application/json', '{}', { afterMs: 300 }),
    },
    options: { waitUntil: 'networkidle' },
    formats: ['png'],
    check: async (seen) => {
      await isGreen(seen);
      expect(seen.report.softTimeouts).toEqual([]);
    },
  },
  {
    name: 'an app that renders fetched data, which names the next request',
    site: {
      '/': html(
        `<script>fetch('/api').then((r) => r.json()).then(({ next }) => fetch(next)).then((r) => r.text())
          .then((color) => { document.body.style.background = color })</script>`,
      ),
      '/api': answer('application/json', '{"next":"/api/2"}', { afterMs: 300 }),
      '/api/2': answer('text/plain', marked(green), { afterMs: 300 }),
    },
    formats: ['png', 'pdf'],
    check: async (seen) => {
      await isGreen(seen);
      expect(seen.report.softTimeouts).toEqual([]);
    },
  },
  {
    name: 'an app whose response starts immediately, and arrives later',
    isLong: true,
    site: {
      '/': html(`<script>fetch('/api').then((r) => r.text()).then(() => { ${paint} })</script>`),
      '/api': (_, response) => {
        response.writeHead(200, { 'content-type': 'text/plain' }).flushHeaders();
        setTimeout(() => response.end('x'), 300);
      },
    },
    formats: ['png'],
    check: isGreen,
  },
  {
    name: 'an app that fetches six resources sequentially',
    isLong: true,
    site: {
      '/': html(
        `<script>(async () => { for (let i = 0; i < 6; i++) await (await fetch('/api?' + i)).text(); ${paint} })()</script>`,
      ),
      '/api': answer('text/plain', 'x', { afterMs: 30 }),
    },
    formats: ['png'],
    check: isGreen,
  },
  {
    name: 'an app that fetches after it has loaded, full page',
    site: {
      '/': html(
        `<script>addEventListener('load', () => setTimeout(async () => {
          await (await fetch('/api')).text();
          document.body.innerHTML = '<div style="height:3000px;background:${green}"></div>';
        }))</script>`,
      ),
      '/api': answer('text/plain', 'x', { afterMs: 500 }),
    },
    options: { isFullPage: true },
    formats: ['png', 'pdf'],
    check: (seen) => seen.expectColor(300, 2500, green),
  },
  {
    name: 'an app that loads its modules after load',
    site: {
      '/': html(`<script>addEventListener('load', () => import('/part.js').then(({ show }) => show()))</script>`),
      '/part.js': answer(
        'text/javascript',
        `export async function show() {
          const request = new XMLHttpRequest();
          request.onload = () => { ${paint} };
          request.open('GET', '/api');
          request.send();
        }`,
        { afterMs: 300 },
      ),
      '/api': answer('text/plain', 'x', { afterMs: 300 }),
    },
    formats: ['png'],
    check: isGreen,
  },
  {
    name: 'an app whose scripts are modules that import each other, and top-level await',
    isLong: true,
    site: {
      '/': html('<script type="module" src="/a.js"></script>'),
      '/a.js': answer(
        'text/javascript',
        `import { go } from './b.js'; await new Promise((r) => setTimeout(r, 300)); go();`,
      ),
      '/b.js': answer('text/javascript', `export const go = () => { ${paint} }`, { afterMs: 200 }),
    },
    formats: ['png'],
    options: { waitUntil: 'networkidle' },
    check: isGreen,
  },
  {
    name: 'an app that hydrates 300 ms after load, with a delay',
    isLong: true,
    site: { '/': html(`<script>addEventListener('load', () => setTimeout(() => { ${paint} }, 300))</script>`) },
    formats: ['png'],
    options: { delay: 500 },
    check: isGreen,
  },
  {
    name: 'an app whose script arrives late',
    site: {
      '/': html('<script src="/app.js" defer></script>'),
      '/app.js': answer('text/javascript', paint, { afterMs: 700 }),
    },
    formats: ['png'],
    check: isGreen,
  },
  {
    name: 'a page that polls every 100 ms, with networkidle: captured at the timeout',
    isLong: true,
    site: {
      '/': html(`<script>${paint}; setInterval(() => fetch('/poll'), 100)</script>`),
      // Responses are slow, so that some requests are always open, even if the browser gets no processor time for some time.
      '/poll': answer('text/plain', 'x', { afterMs: 1000 }),
    },
    formats: ['png'],
    options: { waitUntil: 'networkidle', timeout: 4000 },
    check: async (seen) => {
      await inTime(seen);
      expect(seen.report.softTimeouts).toEqual(['networkidle']);
    },
  },
  {
    name: 'a page that polls while the renderer is blocked, with networkidle',
    isLong: true,
    site: {
      '/': html(`<script>${paint}; setInterval(() => fetch('/poll'), 100)</script>`),
      '/poll': standStillAfter(3),
    },
    isAlone: true,
    formats: ['png'],
    options: { waitUntil: 'networkidle', timeout: 3000 },
    check: async (seen) => {
      await inTime(seen);
      expect(seen.report.softTimeouts).toEqual(['networkidle']);
    },
  },
  {
    name: 'a page that polls every 100 ms, with load: captured immediately',
    isLong: true,
    site: {
      '/': html(`<script>${paint}; setInterval(() => fetch('/poll'), 100)</script>`),
      '/poll': answer('text/plain', 'x'),
    },
    formats: ['png', 'pdf'],
    check: async (seen) => {
      await inTime(seen);
      expect(seen.report.softTimeouts).toEqual([]);
    },
  },
  {
    name: 'server-sent events that never end',
    isLong: true,
    site: {
      '/': html(
        `${hold}<script>new EventSource('/events').addEventListener('message', () => { ${paint}; fetch('/release') }, { once: true })</script>`,
      ),
      '/events': stream('text/event-stream', 'data: 1\n\n'),
      ...held(),
    },
    formats: ['png'],
    check: inTime,
  },
  {
    name: 'a WebSocket that never receives a response',
    isLong: true,
    site: {
      '/': html(
        `${hold}<script>new WebSocket('ws://' + location.host + '/none').onerror = () => { ${paint}; fetch('/release') }</script>`,
      ),
      ...held(),
    },
    formats: ['png'],
    options: { waitUntil: 'networkidle' },
    check: isGreen,
  },
  {
    name: 'a fetch whose response is never read to its end, with networkidle',
    isLong: true,
    site: {
      '/': html(`<script>fetch('/stream').then(() => { ${paint} })</script>`),
      '/stream': (_, response) => void response.writeHead(200).write('first'),
    },
    formats: ['png'],
    options: { waitUntil: 'networkidle' },
    check: inTime,
  },
  {
    name: 'a fetch whose response is never read to its end, with load',
    isLong: true,
    site: {
      '/': html(`<script>fetch('/stream').then(() => { ${paint} })</script>`),
      '/stream': (_, response) => void response.writeHead(200).write('first'),
    },
    formats: ['png'],
    check: inTime,
  },
  {
    name: 'a document that streams endlessly, captured at commit after a delay',
    site: {
      '/': stream('text/html', '<i></i>', `<!doctype html><title>Endless</title><body style="background:${green}">`),
    },
    formats: ['png'],
    options: { waitUntil: 'commit', delay: 300, timeout: 10_000 },
    check: async (seen) => {
      await isGreen(seen);
      expect(seen.report.title).toBe('Endless');
    },
  },
  {
    name: 'a document that streams endlessly fails: no page in time',
    site: { '/': stream('text/html', '<i></i>', '<!doctype html>x') },
    formats: ['png'],
    options: { timeout: 1000 },
    fails: { code: 'CAPTURE_TIMEOUT', message: /1000 ms/ },
  },
  {
    name: 'a document that arrives in pieces, one of which ends within a character',
    site: {
      '/': (_, response) => {
        const page = Buffer.from(
          `<!doctype html><meta charset="utf-8"><title>漢字</title><body style="background:${green}">`,
        );
        response.writeHead(200, { 'content-type': 'text/html' }).write(page.subarray(0, 47));
        setTimeout(() => response.end(page.subarray(47)), 200);
      },
    },
    formats: ['png'],
    check: async (seen) => {
      await isGreen(seen);
      expect(seen.report.title).toBe('漢字');
    },
  },
  {
    name: 'a server that takes a second to respond',
    isLong: true,
    site: { '/': answer('text/html', html(`<body style="background:${green}">`), { afterMs: 1000 }) },
    formats: ['png'],
    check: isGreen,
  },
  {
    name: 'content that waits for idle time, and until it is in view',
    site: {
      '/': html(
        `${hold}<div id="box" style="height:50px"></div><script>new IntersectionObserver(([entry]) => {
          if (entry.isIntersecting) requestIdleCallback(() => requestAnimationFrame(() => { ${paint}; fetch('/release') })) }).observe(box)</script>`,
      ),
      ...held(),
    },
    formats: ['png'],
    check: isGreen,
  },
  {
    name: 'adopted style sheets, and one that arrives late',
    isLong: true,
    site: {
      '/': html(
        `<p id="a" style="height:100px;margin:0"></p><script>const sheet = new CSSStyleSheet(); sheet.replaceSync('#a { background: ${green} }');
          document.adoptedStyleSheets = [sheet]</script>`,
        '<link rel="stylesheet" href="/late.css">',
      ),
      '/late.css': answer('text/css', `body { background: ${marked(green)} }`, { afterMs: 500 }),
    },
    formats: ['png'],
    check: async (seen) => {
      await isGreen(seen);
      seen.expectColor(50, 50, green);
    },
  },
];

testCorpus(pages);
