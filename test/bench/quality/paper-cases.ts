import { answer, pngOf } from '../../corpus/answers.ts';
import { html } from '../../harness/test-site.ts';
import type { PaperCase } from './quality-case.ts';

const [red, green, blue] = ['#ff0000', '#00aa00', '#0000ff'] as const;

const words = (name: string, count: number) => Array.from({ length: count }, (_, index) => `${name}${index}`);

export const paperCases: readonly PaperCase[] = [
  {
    name: 'backgrounds on A4',
    site: { '/': html(`<div style="height:3000px;background:${green}">text</div>`) },
    checkPdf: async (pdf) => {
      pdf.expectA4();
      await pdf.expectShare(1, green, 0.75);
    },
  },
  {
    name: 'the rows and the head of a long table',
    site: {
      '/': html(
        `<table><thead><tr><th>Head<tbody>${words('Row', 120)
          .map((name) => `<tr><td>${name}`)
          .join('')}</table>`,
      ),
    },
    checkPdf: (pdf) => {
      pdf.expectWords(words('Row', 120));
      pdf.expectWords(['Head'], pdf.pages);
    },
  },
  {
    name: 'lazy images on the last page',
    site: {
      '/': html(
        '<div style="height:4500px">text</div><img loading="lazy" src="/image.png" style="display:block;width:400px;height:400px">',
      ),
      '/image.png': await pngOf(green),
    },
    checkPdf: (pdf) => pdf.expectShare(pdf.pages, green, 0.05),
  },
  {
    name: 'content that is visible only in view, on every page',
    site: {
      '/': html(
        `<style>div { height: 400px; opacity: 0; transition: opacity .4s; break-inside: avoid; background: ${green} } .in { opacity: 1 }</style>
         ${words('box', 8)
           .map((name) => `<div>${name}</div>`)
           .join('')}
         <script>const seen = new IntersectionObserver((entries) => entries.forEach(({ target, isIntersecting }) => target.classList.toggle('in', isIntersecting)));
           document.querySelectorAll('div').forEach((box) => seen.observe(box));</script>`,
      ),
    },
    checkPdf: async (pdf) => {
      pdf.expectWords(words('box', 8));
      for (let page = 1; page <= pdf.pages; page += 1) await pdf.expectShare(page, green, 0.25);
    },
  },
  {
    name: 'an app shell whose middle scrolls',
    site: {
      '/': html(
        `<style>html, body { height: 100%; overflow: hidden } .shell { display: flex; flex-direction: column; height: 100vh } main { flex: 1; overflow: auto }</style>
         <div class="shell"><header>Shop</header><main>${words('Line', 100)
           .map((name) => `<p>${name}</p>`)
           .join('')}</main></div>`,
      ),
    },
    checkPdf: (pdf) => pdf.expectWords(words('Line', 100)),
  },
  {
    name: 'a fixed header that appears once, and covers no text',
    site: {
      '/': html(
        `<style>header { position: fixed; top: 0; left: 0; right: 0; height: 60px; background: ${red} } main { padding-top: 60px }</style>
         <header>Shop</header><main>${words('Line', 100)
           .map((name) => `<p>${name}</p>`)
           .join('')}</main>`,
      ),
    },
    checkPdf: (pdf) => {
      pdf.expectWords(words('Line', 100));
      pdf.expectWords(['Shop']);
    },
  },
  {
    name: 'data that a script fetches after it has loaded',
    site: {
      '/': html(
        `<h1>app</h1><script>addEventListener('load', () => setTimeout(async () => { document.body.append(await (await fetch('/api')).text()) }))</script>`,
      ),
      '/api': answer('text/plain', 'arrived', { afterMs: 500 }),
    },
    checkPdf: (pdf) => pdf.expectWords(['arrived']),
  },
  {
    name: 'a chart that a script draws as wide as the page',
    site: {
      '/': html(
        `<canvas id="chart" height="200" style="display:block"></canvas><script>
          const draw = () => { chart.width = document.documentElement.clientWidth; const pen = chart.getContext('2d');
            pen.fillStyle = '${green}'; pen.fillRect(0, 0, chart.width, 200); pen.fillStyle = '${red}'; pen.fillRect(chart.width - 60, 0, 60, 200) };
          addEventListener('resize', draw); draw();</script>`,
      ),
    },
    checkPdf: (pdf) => pdf.expectShare(1, red, 0.005),
  },
  {
    name: 'a canvas and a WebGL canvas',
    site: {
      '/': html(
        `<canvas id="flat" width="400" height="200" style="display:block"></canvas><canvas id="deep" width="400" height="200" style="display:block"></canvas><script>
          const pen = flat.getContext('2d'); pen.fillStyle = '${green}'; pen.fillRect(0, 0, 400, 200);
          const gl = deep.getContext('webgl'); gl.clearColor(0, 0, 1, 1); gl.clear(gl.COLOR_BUFFER_BIT);</script>`,
      ),
    },
    checkPdf: async (pdf) => {
      await pdf.expectShare(1, green, 0.03);
      await pdf.expectShare(1, blue, 0.03);
    },
  },
];
