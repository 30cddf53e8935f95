import { expect } from 'vitest';
import { html } from '../harness/engine.ts';
import { answer, held, hold, marked, svg, svgAnswer, withOther } from './answers.ts';
import { testCorpus, type HardPage, type Seen } from './corpus.ts';

const green = '#00aa00';
const blocksOf =
  (...colors: string[]) =>
  (seen: Seen) =>
    seen.expectColumn(
      50,
      colors.map((color, index) => [index * 100 + 50, color] as const),
    );
const square = 'display:block;width:100px;height:100px';

/** A page with a green WebGL canvas. */
const webgl = (attributes: string, formats: HardPage['formats'] = ['png']): HardPage => ({
  name: `WebGL, ${attributes}`,
  site: {
    '/': html(
      `<canvas id="c" width="100" height="100" style="display:block"></canvas><script>
        const gl = c.getContext('webgl2', ${attributes}) ?? c.getContext('webgl', ${attributes});
        document.title = gl ? 'drawn' : 'no WebGL';
        gl.clearColor(0, 2 / 3, 0, 1); gl.clear(gl.COLOR_BUFFER_BIT);</script>`,
    ),
  },
  formats,
  check: (seen) => {
    expect(seen.report.title).toBe('drawn');
    blocksOf(green)(seen);
  },
});

const pages: readonly HardPage[] = [
  webgl('{}'),
  webgl('{ preserveDrawingBuffer: true }', ['png', 'pdf']),
  {
    name: 'canvases: 2d, of a bitmap, of a worker (OffscreenCanvas), and one with a drawing animation',
    site: {
      '/': html(
        `${hold}<canvas id="a"></canvas><canvas id="b"></canvas><canvas id="c"></canvas><canvas id="d"></canvas><script>
          const fill = (canvas, width = 100) => { const x = canvas.getContext('2d'); x.fillStyle = '${green}'; x.fillRect(0, 0, width, 100) };
          for (const canvas of [a, b, c, d]) { canvas.width = canvas.height = 100; canvas.style.display = 'block' }
          fill(a);
          const off = new OffscreenCanvas(100, 100); fill(off);
          b.getContext('bitmaprenderer').transferFromImageBitmap(off.transferToImageBitmap());
          const moved = c.transferControlToOffscreen();
          const worker = new Worker('/worker.js');
          worker.onmessage = () => fetch('/release');
          worker.postMessage(moved, [moved]);
          let begin;
          const draw = () => { const done = Math.min(1, (performance.now() - begin) / 600); fill(d, 100 * done); if (done < 1) requestAnimationFrame(draw) };
          onload = () => { begin = performance.now(); draw() };
        </script>`,
      ),
      '/worker.js': answer(
        'text/javascript',
        `onmessage = ({ data }) => { const x = data.getContext('2d'); x.fillStyle = '${green}'; x.fillRect(0, 0, 100, 100); requestAnimationFrame(() => postMessage('drawn')) }`,
      ),
      ...held(),
    },
    formats: ['png'],
    check: (seen) => {
      blocksOf(green, green, green, green)(seen);
      seen.expectColor(97, 350, green);
    },
  },
  {
    name: 'a chart with a drawing animation, next to a canvas with a picture of another site, which cannot be read',
    site: {
      '/': withOther(
        html(
          `<canvas id="a" style="display:block" width="100" height="100"></canvas><canvas id="b" style="display:block" width="100" height="100"></canvas><script>
            const image = new Image(); image.src = '{other}/green.svg';
            image.onload = () => a.getContext('2d').drawImage(image, 0, 0, 100, 100);
            const begin = performance.now();
            const draw = () => {
              const done = Math.min(1, (performance.now() - begin) / 600);
              const x = b.getContext('2d'); x.fillStyle = '${green}'; x.fillRect(0, 0, 100 * done, 100);
              if (done < 1) requestAnimationFrame(draw);
            };
            draw();
          </script>`,
        ),
      ),
      '/green.svg': svgAnswer(green),
    },
    formats: ['png'],
    check: (seen) => {
      blocksOf(green, green)(seen);
      seen.expectColor(97, 150, green);
    },
  },
  {
    name: 'a canvas that its script draws only when the page has not scrolled for a moment',
    isLong: true,
    site: {
      '/': html(
        `<div style="height:900px;background:#0000ff"></div><canvas id="late" width="100" height="100" style="${square}"></canvas><script>
          let timer; const draw = () => { const pen = late.getContext('2d'); pen.fillStyle = '${green}'; pen.fillRect(0, 0, 100, 100); };
          addEventListener('scroll', () => { clearTimeout(timer); if (late.getBoundingClientRect().top < innerHeight) timer = setTimeout(draw, 500); });</script>`,
      ),
    },
    options: { isFullPage: true },
    formats: ['png'],
    check: (seen) => seen.expectColor(50, 950, green),
  },
  {
    name: 'a canvas that always changes does not delay the capture for long',
    isLong: true,
    site: {
      '/': html(`<canvas id="c" width="100" height="100"></canvas><script>
        const x = c.getContext('2d'); const draw = () => { x.fillStyle = 'rgb(0,' + Math.random() * 255 + ',0)'; x.fillRect(0, 0, 100, 100); requestAnimationFrame(draw) }; draw()</script>`),
    },
    formats: ['png'],
    check: (seen) => expect(seen.report.timings.settleMs).toBeLessThan(6000),
  },
  {
    name: 'a video without a poster, from a stream',
    site: {
      '/': html(
        `${hold}<canvas id="c" width="100" height="100" style="display:none"></canvas><video id="v" muted autoplay style="${square}"></video><script>
          const x = c.getContext('2d'); setInterval(() => { x.fillStyle = '${green}'; x.fillRect(0, 0, 100, 100) }, 20);
          v.srcObject = c.captureStream(30); v.requestVideoFrameCallback(() => fetch('/release'));</script>`,
      ),
      ...held(),
    },
    formats: ['png'],
    check: (seen) => expect(seen.picture.difference(50, 50, green)).toBeLessThan(12),
  },
  {
    name: 'a video whose file does not arrive: its poster, and the page around it',
    site: {
      '/': html(
        `<video style="${square};object-fit:fill" poster="/poster.svg" src="/missing.mp4" preload="auto"></video><div style="height:100px;background:${green}"></div>`,
      ),
      '/poster.svg': answer('image/svg+xml', svg(green)),
    },
    formats: ['png'],
    check: blocksOf(green, green),
  },
  {
    name: 'animations by CSS, SVG, scripts and transitions are at their end; pending ones have not started',
    site: {
      '/': html(
        `<style>@keyframes in { from { opacity: 0 } } div { height: 100px; background: ${green} }
          .in { animation: in 60s } .later { animation: in 60s 30s backwards } #moves { transition: opacity 60s; opacity: 0 }</style>
         <div class="in"></div><div class="later"></div><div id="moves"></div><div id="script"></div>
         <svg style="${square}"><rect width="100" height="100" fill="${green}"/><rect width="100" height="100" fill="#cc0000"><animate attributeName="opacity" from="1" to="0" dur="100ms" fill="freeze"/></rect></svg>
         <script>requestAnimationFrame(() => requestAnimationFrame(() => (moves.style.opacity = 1)));
          script.animate({ opacity: [0, 1] }, { duration: 60000, fill: 'forwards' })</script>`,
      ),
    },
    options: { delay: 300, viewport: { height: 500 } },
    formats: ['png'],
    check: blocksOf(green, green, green, green, green),
  },
  {
    name: 'filters, blending, backdrops, masks, clips and 3D layers',
    site: {
      '/': html(
        `<style>body > div { height: 100px; width: 100px; position: relative; background: #fff } i { position: absolute; inset: 0 }</style>
         <div style="background:#ff0000;filter:hue-rotate(0deg) invert(1)"></div>
         <div style="background:#ffff00"><i style="background:#00ffff;mix-blend-mode:multiply"></i></div>
         <div style="background:#ffffff"><i style="backdrop-filter:invert(1)"></i></div>
         <div style="background:#0000ff;clip-path:inset(0);mask:linear-gradient(#000,#000)"></div>
         <div style="background:#123456;transform:perspective(500px) rotateY(180deg);will-change:transform"></div>`,
      ),
    },
    options: { viewport: { height: 500 } },
    check: blocksOf('#00ffff', '#00ff00', '#000000', '#0000ff', '#123456'),
  },
  {
    name: 'the top layer: a dialog, its backdrop, and a popover above it',
    site: {
      '/': html(
        `<style>dialog, [popover] { margin: 0; padding: 0; border: 0; width: 100px; height: 100px; inset: 0 auto auto 0; background: ${green} } dialog::backdrop { background: #0000ff } #pop { top: 100px; background: #00aaaa }</style>
         <div style="position:fixed;inset:0;z-index:2147483647;background:#cc0000"></div><dialog id="d"></dialog><div popover="manual" id="pop"></div>
         <script>d.showModal(); pop.showPopover()</script>`,
      ),
    },
    formats: ['png'],
    check: blocksOf(green, '#00aaaa', '#0000ff'),
  },
  {
    name: 'a view transition in progress: its final state',
    isLong: true,
    site: {
      '/': html(
        `<style>::view-transition-group(*), ::view-transition-old(*), ::view-transition-new(*) { animation-duration: 60s }</style><body style="background:#cc0000"><script>
          addEventListener('load', () => document.startViewTransition(() => { document.body.style.background = '${marked(green)}' }))</script>`,
      ),
    },
    formats: ['png'],
    options: { delay: 400 },
    check: blocksOf(green),
  },
  {
    name: 'a view transition whose new state never arrives',
    isLong: true,
    site: {
      '/': html(
        `<body style="background:${marked(green)}"><script>addEventListener('load', () => document.startViewTransition(() => new Promise(() => {})))</script>`,
      ),
    },
    formats: ['png'],
    options: { delay: 200 },
    check: blocksOf(green),
  },
  ...(
    [
      ['light', 'light', '#ffffff'],
      ['no-preference', 'light', '#ffffff'],
      ['dark', 'dark', '#121212'],
    ] as const
  ).map(([colorScheme, look, canvas]): HardPage => ({
    name: `color scheme ${colorScheme}: media queries, pictures, system colors, light-dark()`,
    site: {
      '/': html(
        `<style>:root { color-scheme: light dark } div { height: 100px; background: light-dark(#ffeedd, #112233) }
             #query { background: #ffeedd } @media (prefers-color-scheme: dark) { #query { background: #112233 } } img { display: block }</style>
           <div></div><div id="query"></div>
           <picture><source media="(prefers-color-scheme: dark)" srcset="/dark.svg"><img src="/light.svg"></picture>
           <script>document.title = [matchMedia('(prefers-color-scheme: dark)').matches, matchMedia('(prefers-reduced-motion: no-preference)').matches].join()</script>`,
      ),
      '/light.svg': answer('image/svg+xml', svg('#ffeedd')),
      '/dark.svg': answer('image/svg+xml', svg('#112233')),
    },
    options: { colorScheme },
    formats: ['png'],
    check: (seen) => {
      const color = look === 'dark' ? '#112233' : '#ffeedd';
      blocksOf(color, color, color)(seen);
      seen.expectColor(300, 400, canvas);
      expect(seen.report.title).toBe(`${look === 'dark'},true`);
      expect(seen.asked(look === 'dark' ? '/light.svg' : '/dark.svg')).toBe(0);
    },
  })),
];

testCorpus(pages);
