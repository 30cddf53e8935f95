import { expect } from 'vitest';
import { html } from '../harness/engine.ts';
import { marked } from './answers.ts';
import { testCorpus, type HardPage } from './corpus.ts';

const red = "document.documentElement.style.background = '#ff0000'";
/** Scripts of every kind; each would paint its document red, and the last ones never stop changing it. */
const scripts = `<script>${red}</script><script src="/script.js"></script><script type="module">${red}</script>
  <img src="/missing.png" onerror="${red}" style="display:none"><svg onload="${red}" width="0" height="0"></svg>
  <iframe src="javascript:parent.${red}" style="display:none"></iframe><script>for (;;);</script>`;

const page = (options: HardPage['options'], name: string): HardPage => ({
  name: `javaScript false: ${name}`,
  site: {
    '/': (request, response) => {
      const { port } = new URL(`http://${request.headers.host}`);
      response.writeHead(200, { 'content-type': 'text/html' });
      response.end(
        html(
          `<style>html { background: #00aa00 } @keyframes come { from { opacity: 0 } }</style>
           <noscript><div style="height:100px;background:#0000ff"></div></noscript>
           <iframe src="http://frame.test:${port}/frame" style="border:0;width:100%;height:100px;display:block"></iframe>
           <p id="late" style="margin:0;height:100px;background:#123456;animation:come 1s">text</p>
           <div style="height:1200px"></div>
           <iframe loading="lazy" src="http://frame.test:${port}/frame" style="border:0;width:100%;height:100px;display:block"></iframe>
           ${scripts}`,
        ),
      );
    },
    '/script.js': (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/javascript' });
      response.end(red);
    },
    '/frame': html(`<style>html { background: #ffff00 }</style>${scripts}`),
  },
  options: {
    ...options,
    javaScript: false,
    waitFor: { text: 'TEXT', state: 'visible', timeout: 5000, required: true },
  },
  formats: ['png'],
  check: (seen) => {
    seen.expectColumn(320, [
      [50, '#0000ff'],
      [150, '#ffff00'],
      [250, '#123456'],
      [350, '#00aa00'],
    ]);
    if (options?.isFullPage === true) seen.expectColor(320, 1550, '#ffff00');
    expect(seen.report.softTimeouts).toEqual([]);
    expect(seen.requests).not.toContain('/script.js');
  },
});

testCorpus([
  page({}, 'no script of the page or a frame of another site runs, and the capture continues'),
  page({ isFullPage: true }, 'on a page that is scrolled through and grows'),
  page({ antiBot: true }, 'in the full browser'),
  {
    name: 'javaScript false: also for the page that a page without scripts redirects to',
    site: {
      '/': html(`<meta http-equiv="refresh" content="0;url=/next">`),
      '/next': html(`<style>html { background: ${marked('#00aa00')} }</style>${scripts}`),
    },
    options: { javaScript: false },
    formats: ['png'],
    check: (seen) => seen.expectColor(320, 400, '#00aa00'),
  },
]);
