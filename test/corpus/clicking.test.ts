import { expect } from 'vitest';
import { html } from '../harness/engine.ts';
import { testCorpus, type HardPage, type Seen } from './corpus.ts';

const isGreen = (seen: Seen): void => {
  seen.expectColor(300, 300, '#00aa00');
  expect(seen.report.softTimeouts).toEqual([]);
};

const pages: readonly HardPage[] = [
  {
    name: 'click: elements in order, below a bar, on a page that detects untrusted clicks',
    site: {
      '/': html(
        `<div style="position:fixed;top:0;width:100%;height:50px;background:#ff0000"></div><div style="height:3000px"></div>
         <button id="first" onclick="if (event.isTrusted) setTimeout(() => document.body.innerHTML = '<button class=second>x</button>', 700)">x</button>
         <script>document.querySelectorAll = () => []; addEventListener('click', (event) => { if (event.isTrusted && event.target.className === 'second') document.body.style.background = '#00aa00' })</script>`,
      ),
    },
    options: { click: ['#first', 'button.second'] },
    formats: ['png'],
    check: isGreen,
  },
  {
    name: 'click: a link and a form are followed, and the capture waits for the resources of the next page',
    site: {
      '/': html('<a href="/form">go</a>'),
      '/form': (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/html' });
        setTimeout(
          () => response.end(html('<form action="/end"><input name="q" value="1"><button>go</button></form>')),
          500,
        );
      },
      '/end': (request, response) => {
        const color = request.url === '/end?q=1' ? '#00aa00' : '#ff0000';
        response.writeHead(200, { 'content-type': 'text/html' });
        setTimeout(() => response.end(html(`<style>html { background: ${color} }</style>`)), 500);
      },
    },
    options: { click: ['a', 'form button'], javaScript: false },
    formats: ['png'],
    check: (seen) => {
      isGreen(seen);
      expect(new URL(seen.report.finalUrl).pathname).toBe('/end');
    },
  },
  {
    name: 'click: links to other schemes, and to windows, do not navigate',
    site: {
      '/': html(
        `<style>html { background: #00aa00 } a { display: block }</style><a id="file" href="file:///etc/passwd">x</a>
         <a id="window" href="/window" target="_blank">x</a><a id="view" href="view-source:http://127.0.0.1/">x</a>`,
      ),
    },
    options: { click: ['#file', '#window', '#view'] },
    formats: ['png'],
    check: (seen) => {
      isGreen(seen);
      expect(new URL(seen.report.finalUrl).pathname).toBe('/');
    },
  },
  {
    name: 'click: to an address that the egress policy refuses',
    site: { '/': html('<a href="http://10.1.2.3/">x</a>') },
    options: { click: ['a'] },
    formats: ['png'],
    fails: { code: 'URL_BLOCKED' },
  },
  {
    name: 'click: an element that is covered',
    isLong: true,
    site: { '/': html('<button>x</button><div style="position:fixed;inset:0"></div>') },
    options: { click: ['button'] },
    formats: ['png'],
    fails: { code: 'CAPTURE_FAILED', message: /^click "button" matched an element that is covered/ },
  },
  {
    name: 'click: an element that does not exist',
    site: { '/': html('<button hidden>x</button>') },
    options: { click: ['button'] },
    formats: ['png'],
    fails: {
      code: 'CAPTURE_FAILED',
      message: /^click "button" matched no visible element within 5000 ms\. The search covered/,
    },
  },
];

testCorpus(pages);
