import { expect } from 'vitest';
import { html } from '../harness/engine.ts';
import { answer, webSocket } from './answers.ts';
import { testCorpus, type HardPage } from './corpus.ts';

const green = '#00aa00';
const blue = '#0000ff';
const box = `<div id="box" style="height:200px;background:#cccccc"></div>`;
const paint = `box.style.background = '${green}'`;
const afterLoad = (script: string) => html(`${box}<script>addEventListener('load', () => { ${script} })</script>`);

const isGreen: HardPage['check'] = (seen) => {
  seen.expectColor(300, 100, green);
  expect(seen.report.softTimeouts).toEqual([]);
};

/** Fades a box in over a second with animation frames, as libraries do. */
const fade = `const begin = performance.now();
  (function step() {
    const share = Math.min(1, (performance.now() - begin) / 1000);
    box.style.opacity = share;
    if (share < 1) requestAnimationFrame(step);
  })()`;

/** A bar on a canvas that starts to grow `startMs` after the first drawing, for half a second. */
const chart = (color: string, startMs: number) => `<canvas id="c" width="600" height="200"></canvas><script>
  const context = c.getContext('2d'), begin = performance.now();
  (function step() {
    const share = Math.max(0, Math.min(1, (performance.now() - begin - ${startMs}) / 500));
    context.clearRect(0, 0, 600, 200);
    context.fillStyle = '${color}';
    context.fillRect(0, 0, 20, 200);
    context.fillRect(0, 0, 600 * share, 200);
    if (share < 1) requestAnimationFrame(step);
  })()</script>`;

const whole = { isFullPage: true } as const;

/** Counts a number up for two seconds, as libraries do by default, and paints the box at the end. */
const counter = html(`${box}<p id="number">1,000</p><script>
  const begin = performance.now();
  (function step() {
    const share = Math.min(1, (performance.now() - begin) / 2000);
    number.textContent = (1000 + Math.round(8000 * share)).toLocaleString('en-US');
    if (share < 1) requestAnimationFrame(step);
    else ${paint};
  })()</script>`);

const pages: readonly HardPage[] = [
  {
    name: 'a timer of 60 ms after load',
    site: { '/': afterLoad(`setTimeout(() => { ${paint} }, 60)`) },
    check: isGreen,
  },
  {
    name: 'a row of short timers, of which only the last changes something',
    site: {
      '/': afterLoad(
        `(async () => { for (let i = 0; i < 5; i += 1) await new Promise((run) => setTimeout(run, 60)); ${paint} })()`,
      ),
    },
    isLong: true,
    check: isGreen,
  },
  {
    name: 'a box that a script fades in by animation frames',
    site: {
      '/': html(`<div id="box" style="height:200px;opacity:0;background:${green}"></div><script>${fade}</script>`),
    },
    formats: ['png', 'jpeg'],
    isLong: true,
    check: isGreen,
  },
  {
    name: 'a box that a script fades in over three seconds',
    site: {
      '/': html(
        `<div id="box" style="height:200px;opacity:0;background:${green}"></div><script>${fade.replace('/ 1000', '/ 3000')}</script>`,
      ),
    },
    isLong: true,
    check: isGreen,
  },
  {
    name: 'a box that a script fades in by animation frames, on a phone',
    site: {
      '/': html(
        `<div id="box" style="height:200px;opacity:0;background:${green}"></div><script>${fade}</script>`,
        '<meta name="viewport" content="width=device-width">',
      ),
    },
    options: { isMobile: true, viewport: { width: 375, height: 600, deviceScaleFactor: 2 } },
    isLong: true,
    check: isGreen,
  },
  ...[{}, whole].map((options): HardPage => ({
    name: `a number that is counted up for two seconds${'isFullPage' in options ? ', full page' : ''}`,
    site: { '/': counter },
    options,
    isLong: true,
    check: isGreen,
  })),
  {
    name: 'a headline with a typing effect',
    site: {
      '/': html(`<h1 id="head"></h1><script>
        const text = 'We build websites that work everywhere';
        let at = 0;
        const timer = setInterval(() => {
          head.textContent = document.title = text.slice(0, ++at);
          if (at === text.length) clearInterval(timer);
        }, 60);
      </script>`),
    },
    formats: ['png'],
    isLong: true,
    check: ({ report }) =>
      expect(report).toMatchObject({ title: 'We build websites that work everywhere', softTimeouts: [] }),
  },
  ...[{}, whole].map((options): HardPage => ({
    name: `a loader that covers the page until 1.2 s after load${'isFullPage' in options ? ', full page' : ''}`,
    site: {
      '/': html(
        `<div style="height:700px;background:${green}"></div>
          <div id="loader" style="position:fixed;inset:0;background:#ffffff;transition:opacity .5s"></div>
          <script>addEventListener('load', () => setTimeout(() => {
            loader.style.opacity = 0;
            setTimeout(() => loader.remove(), 500);
          }, 1200))</script>`,
      ),
    },
    options,
    formats: ['png'],
    isLong: true,
    check: isGreen,
  })),
  ...(['png', 'pdf'] as const).flatMap((format) =>
    [blue, '#000000'].map((color): HardPage => ({
      name: `a chart whose ${color === blue ? 'bar' : 'black bar'} starts to grow 300 ms after load, as ${format}`,
      site: { '/': html(chart(color, 300)) },
      formats: [format],
      isLong: true,
      check: (seen) => seen.expectColor(500, 100, color),
    })),
  ),
  {
    name: 'a chart whose bar starts to grow 300 ms after load, full page',
    site: { '/': html(`${chart(blue, 300)}<div style="height:900px"></div>`) },
    options: whole,
    isLong: true,
    check: (seen) => seen.expectColor(500, 100, blue),
  },
  {
    name: 'a message over a WebSocket',
    site: {
      '/': html(`${box}<script>
        new WebSocket('ws://' + location.host + '/socket').onmessage = ({ data }) => { box.style.background = data }
      </script>`),
      '/socket': webSocket([[300, green]]),
    },
    check: isGreen,
  },
  {
    name: 'a message over a WebSocket that is a reply to a second one, with networkidle',
    site: {
      '/': html(`${box}<script>
        new WebSocket('ws://' + location.host + '/socket').onmessage = ({ data }) => { box.style.background = data }
      </script>`),
      '/socket': webSocket([
        [700, ''],
        [150, green],
      ]),
    },
    options: { waitUntil: 'networkidle' },
    isLong: true,
    check: isGreen,
  },
  ...Object.entries({
    'responds half a second after load': `onmessage = () => { setTimeout(postMessage, 500, '${green}') }`,
    'sends the last of three responses half a second after load': `onmessage = () => {
      setTimeout(postMessage, 170, '#000001');
      setTimeout(postMessage, 340, '#000002');
      setTimeout(postMessage, 500, '${green}');
    }`,
    'receives its second message after its first response': `onmessage = ({ data }) => {
      setTimeout(postMessage, 800, data === 'first' ? 'second' : '${green}');
    }`,
  }).map(([what, worker], index): HardPage => ({
    name: `a worker that ${what}`,
    site: {
      '/': html(`${box}<script>
        const worker = new Worker('/worker');
        worker.onmessage = ({ data }) => {
          if (data === 'second') worker.postMessage(data);
          else box.style.background = data;
        };
        addEventListener('load', () => worker.postMessage('first'));
      </script>`),
      '/worker': answer('text/javascript', worker),
    },
    formats: ['png'],
    isLong: index > 0,
    check: isGreen,
  })),
  {
    name: 'a request that a page sends after a message from a worker',
    site: {
      '/': html(`${box}<script>
        const worker = new Worker('data:text/javascript,onmessage = () => { setTimeout(postMessage, 300, 1) }');
        worker.onmessage = async () => { box.style.background = await (await fetch('/color')).text() };
        addEventListener('load', () => worker.postMessage(1));
      </script>`),
      '/color': (_, response) => void setTimeout(() => response.end(green), 600),
    },
    formats: ['png'],
    isLong: true,
    check: isGreen,
  },
  {
    name: 'a server-sent event with a name',
    site: {
      '/': html(`${box}<script>
        new EventSource('/events').addEventListener('news', ({ data }) => { box.style.background = data })
      </script>`),
      '/events': (_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
        setTimeout(() => response.write(`event: news\ndata: ${green}\n\n`), 500);
      },
    },
    isLong: true,
    check: isGreen,
  },
  ...(['load', 'networkidle'] as const).map((waitUntil): HardPage => ({
    name: `a page that a script leaves 400 ms after load, with ${waitUntil}`,
    site: {
      '/': html(`redirecting<script>setTimeout(() => { location = '/next' }, 400)</script>`),
      '/next': answer('text/html', html(`<body style="background:${green}">x`), { afterMs: 100 }),
    },
    options: { waitUntil },
    isLong: waitUntil === 'networkidle',
    check: isGreen,
  })),
  ...[
    ['its own document', html('redirecting', '<meta http-equiv="Refresh" content="1; url=/next">'), {}],
    ['a header', html('redirecting'), { refresh: '1;url=/next' }],
  ].map(([by, body, headers]): HardPage => ({
    name: `a page that ${by as string} redirects to another one after a second`,
    site: {
      '/': answer('text/html', body as string, { headers: headers as Record<string, string> }),
      '/next': html(`<body style="background:${green}">x`),
    },
    isLong: true,
    check: isGreen,
  })),
  ...[{}, { pdf: { preferCssPageSize: true as const } }].map((options): HardPage => ({
    name: `an invoice that prints itself on load, and then navigates back${'pdf' in options ? ', on custom paper' : ''}`,
    site: {
      '/': html(
        `<body onload="print()"><h1 style="background:${green};height:200px">Invoice</h1><script>onafterprint = () => history.back()</script>`,
      ),
    },
    options,
    formats: ['pdf'],
    isLong: 'pdf' in options,
    check: ({ pdf }) => expect(pdf?.pages[0]?.text).toContain('Invoice'),
  })),
];

/** Content that does not finish in time. */
const late: readonly (readonly [what: string, script: string, said: string])[] = [
  ['an endless typing effect', 'setInterval(() => { clock.textContent += "x" }, 60)', 'content'],
  [
    'boxes that start to move sequentially',
    'let at = 0; setInterval(() => { all[at++ % all.length].style.translate = at + "px" }, 40)',
    'animations',
  ],
].map(([what = '', script = '', said = '']) => [what, script, said] as const);

const changing: readonly HardPage[] = late.map(([what, script, said]) => ({
  name: `${what}: is captured at the timeout, and named`,
  site: {
    '/': html(
      `<p id="clock"></p>${'<i style="display:block;height:3px;background:#0000ff"></i>'.repeat(140)}<script>const all = document.querySelectorAll('i'); ${script}</script>`,
    ),
  },
  isLong: true,
  check: ({ report }) => {
    expect(report.softTimeouts).toEqual([said]);
    expect(report.timings.settleMs).toBeGreaterThan(2400);
  },
}));

/** Repeated changes, and the maximum time that each may delay the capture. */
const periodic: readonly (readonly [what: string, script: string, maxMs: number])[] = [
  [
    'an animation loop that draws the same frame',
    '(function loop() { box.title = "x"; requestAnimationFrame(loop) })()',
    2400,
  ],
  ['a clock', 'setInterval(() => { clock.textContent = Date.now() }, 1000)', 2400],
  ['slides', 'setInterval(() => { box.className = "s" + Date.now() }, 2000)', 2400],
  ['a short poll', 'setInterval(() => { window.x = Date.now() }, 50)', 2400],
  ['a poll without a visible effect', 'setInterval(() => { below.textContent = Date.now() }, 50)', 2400],
  ['timers that blink', '(function blink() { box.hidden = !box.hidden; setTimeout(blink, 530) })()', 2400],
  ['a worker that is silent', 'new Worker("data:text/javascript,0").postMessage(1)', 2400],
  [
    'a worker that sends endlessly',
    'new Worker("data:text/javascript,onmessage=()=>setInterval(postMessage,50,1)").postMessage(1)',
    2400,
  ],
  [
    'a worker that receives messages continuously, and is silent',
    'const worker = new Worker("data:text/javascript,0"); setInterval(() => worker.postMessage(1), 200)',
    2400,
  ],
  ['a timer of 10 s', 'setTimeout(() => { box.remove() }, 10_000)', 2400],
  [
    'a box that moves endlessly',
    'let x = 0; (function loop() { box.style.translate = ++x % 50 + "px"; requestAnimationFrame(loop) })()',
    4500,
  ],
];

const held: readonly HardPage[] = periodic.map(([what, script, maxMs]) => ({
  name: `${what}: does not delay the capture`,
  site: {
    '/': html(
      `${box}<p id="clock">now</p><p id="below" style="position:absolute;top:3000px">now</p><script>addEventListener('load', () => { ${script} })</script>`,
    ),
  },
  isLong: true,
  isAlone: true,
  formats: ['png'],
  check: ({ report }) => {
    expect(report.softTimeouts).toEqual([]);
    expect(report.timings.settleMs).toBeLessThan(maxMs);
  },
}));

testCorpus([...pages, ...changing, ...held]);
