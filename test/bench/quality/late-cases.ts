import { answer, svgAnswer } from '../../corpus/answers.ts';
import { blockFont } from '../../corpus/block-font.ts';
import { row, rowsOf } from '../../corpus/rows.ts';
import { html } from '../../harness/test-site.ts';
import type { PictureCase } from './quality-case.ts';

const [green, blue, white] = ['#00aa00', '#0000ff', '#ffffff'] as const;

/** The middle of the viewport. */
const x = 640;

const paint = `document.body.style.background = '${green}'`;
const isGreen: PictureCase['check'] = (picture) => picture.expectColumn(x, [[300, green]]);

export const lateCases: readonly PictureCase[] = [
  {
    name: 'an app that renders data from two requests in a row',
    site: {
      '/': html(
        `<h1>app</h1><script>fetch('/api').then((r) => r.json()).then(({ next }) => fetch(next)).then((r) => r.text()).then(() => { ${paint} })</script>`,
      ),
      '/api': answer('application/json', '{"next":"/api/2"}', { afterMs: 300 }),
      '/api/2': answer('text/plain', 'x', { afterMs: 300 }),
    },
    check: isGreen,
  },
  {
    name: 'an app that fetches after it has loaded, and becomes a long page',
    site: {
      '/': html(
        `<script>addEventListener('load', () => setTimeout(async () => {
          await (await fetch('/api')).text();
          document.body.innerHTML = '<div style="height:3000px;background:${green}"></div>';
        }))</script>`,
      ),
      '/api': answer('text/plain', 'x', { afterMs: 500 }),
    },
    check: (picture) => {
      picture.expectHeight(3000);
      picture.expectColumn(x, [[2900, green]]);
    },
  },
  {
    name: 'an image that a script adds, from a slow server',
    site: {
      '/': html(
        `<h1>gallery</h1><script>addEventListener('load', () => document.body.insertAdjacentHTML('beforeend',
          '<img style="display:block;width:100%;height:500px" src="/image.svg">'))</script>`,
      ),
      '/image.svg': svgAnswer(green, 1500),
    },
    check: isGreen,
  },
  {
    name: 'a web font that arrives after a second',
    site: {
      '/': html(
        '<p>abc</p>',
        `<style>@font-face { font-family: block; src: url(/font.ttf) } p { margin: 0; font: 100px/100px block, sans-serif; color: ${green} }</style>`,
      ),
      '/font.ttf': answer('font/ttf', blockFont(), { afterMs: 1000 }),
    },
    check: (picture) => {
      picture.expectColumn(10, [
        [5, green],
        [95, green],
      ]);
      picture.expectColumn(310, [[50, white]]);
    },
  },
  {
    name: 'a page that never stops polling its server',
    site: {
      '/': html(
        `<h1>chat</h1><script>const get = (path) => fetch(path).then((r) => r.text()); get('/api').then(() => { ${paint} }); setInterval(() => get('/poll'), 100)</script>`,
      ),
      '/api': answer('text/plain', 'x', { afterMs: 300 }),
      '/poll': answer('text/plain', 'x', { afterMs: 1000 }),
    },
    check: isGreen,
  },
];

export const drawnCases: readonly PictureCase[] = [
  {
    name: 'a chart that a script draws in 600 ms',
    site: {
      '/': html(
        `<canvas id="chart" width="1280" height="600" style="display:block"></canvas><script>onload = () => {
          const begin = performance.now(), pen = chart.getContext('2d');
          const draw = () => {
            const done = Math.min(1, (performance.now() - begin) / 600);
            pen.fillStyle = '${green}'; pen.fillRect(0, 0, 1280 * done, 600);
            if (done < 1) requestAnimationFrame(draw);
          };
          draw();
        }</script>`,
      ),
    },
    check: (picture) => {
      picture.expectColumn(10, [[300, green]]);
      picture.expectColumn(1275, [[300, green]]);
    },
  },
  {
    name: 'a heading that slides in after a second, for two seconds',
    site: {
      '/': html(
        `<style>@keyframes in { from { opacity: 0; transform: translateY(80px) } } div { height: 400px; background: ${green}; animation: in 2s 1s both }</style><div></div>`,
      ),
    },
    check: (picture) =>
      picture.expectColumn(x, [
        [5, green],
        [395, green],
      ]),
  },
  {
    name: 'a WebGL canvas',
    site: {
      '/': html(
        `<canvas id="scene" width="600" height="600" style="display:block"></canvas><script>
          const gl = scene.getContext('webgl'); gl.clearColor(0, 2 / 3, 0, 1); gl.clear(gl.COLOR_BUFFER_BIT);</script>`,
      ),
    },
    check: (picture) => picture.expectColumn(300, [[300, green]]),
  },
  {
    name: 'a spinner and a clock that never stop, next to the content',
    site: {
      '/': html(
        `<style>@keyframes turn { to { transform: rotate(1turn) } } #spinner { width: 50px; height: 50px; background: ${blue}; animation: turn 1s linear infinite }</style>
         <div id="spinner"></div><p id="clock" style="height:50px;margin:0"></p>${rowsOf(20)}
         <script>setInterval(() => { clock.textContent = performance.now() }, 20)</script>`,
      ),
    },
    check: (picture) => {
      picture.expectHeight(2100);
      picture.expectColumn(x, [row(0, 100), row(10, 100), row(19, 100)]);
    },
  },
];
