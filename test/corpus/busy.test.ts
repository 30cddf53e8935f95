// @module-tag long
import { expect } from 'vitest';
import { extractNames } from '@webcapture/shared/api/formats.ts';
import { html } from '../harness/engine.ts';
import { marked } from './answers.ts';
import { testCorpus, type HardPage } from './corpus.ts';
import { green, hostilePage } from './hostile-page.ts';

/** The page's scripts are stopped, and its current state is captured. */
const isStopped: HardPage['check'] = (seen) => {
  seen.expectColor(300, 300, green);
  expect(seen.report.softTimeouts).toContain('settle');
  expect(seen.report.images).toEqual({ loaded: 1, failed: 0, pending: 0 });
};
const timesOut: HardPage['fails'] = { code: 'CAPTURE_TIMEOUT' };

const loops: readonly HardPage[] = [
  hostilePage('a busy loop from the start: there is no page', 'for (;;);', {
    options: { timeout: 800 },
    fails: timesOut,
  }),
  hostilePage('a confirm dialog that is repeated until it is accepted', `while (!confirm('really?'));`, {
    options: { timeout: 800 },
    fails: timesOut,
  }),
  hostilePage(
    // The page has a single color: before the picture is retaken, the engine asks the page whether it will change, and gets no response.
    'a busy loop after load',
    `document.body.style.background = '${green}';
     addEventListener('load', () => setTimeout(() => { for (;;) /(x+x+)+y/.test('x'.repeat(40)); }, 0))`,
    { check: isStopped },
  ),
  hostilePage(
    'a busy loop when the viewport grows, full page',
    `matchMedia('(min-height: 1500px)').addEventListener('change', () => { for (;;); });
     document.body.insertAdjacentHTML('beforeend', '<p style="height:2000px"></p>')`,
    { options: { isFullPage: true }, check: isStopped },
  ),
  hostilePage(
    'a busy loop in each animation frame',
    `const spin = () => { const end = performance.now() + 200; while (performance.now() < end); requestAnimationFrame(spin) }; spin()`,
  ),
  hostilePage(
    'busy workers',
    `const url = URL.createObjectURL(new Blob(['for (;;);'])); for (let i = 0; i < 4; i++) new Worker(url)`,
  ),
  hostilePage(
    'a busy frame of another site',
    `const f = document.createElement('iframe'); f.src = location.origin.replace('127.0.0.1', 'other.test') + '/busy'; document.body.append(f)`,
    {
      site: { '/busy': '<script>for (;;);</script>' },
      options: { timeout: 1500, imageTimeout: 300 },
    },
  ),
  hostilePage(
    '10,000 messages, each of which causes another',
    `onmessage = () => postMessage(1); for (let i = 0; i < 10_000; i++) postMessage('x'.repeat(10))`,
  ),
];

const striped = 'width:200px;height:100px;background:linear-gradient(#0000ff 50px, #00aa00 50px)';

const options: readonly HardPage[] = [
  {
    name: 'selector: an element that appears late on a page that then blocks the main thread',
    isHostile: true,
    site: {
      '/': html(
        `<script>setTimeout(() => {
           document.body.innerHTML = '<div style="height:3000px"></div><p id="p" style="${striped}"></p>'; setTimeout(() => { for (;;); }, 300);
         }, 500)</script>`,
      ),
    },
    options: { selector: '#p' },
    formats: ['png'],
    check: (seen) => {
      seen.expectSize(200, 100);
      seen.expectColumn(100, [
        [10, '#0000ff'],
        [90, '#00aa00'],
      ]);
    },
  },
  {
    name: 'selector: an element of a page that blocks the main thread from the start',
    isHostile: true,
    site: {
      '/': html(`<p id="p" style="${striped}"></p><script>onload = () => setTimeout(() => { for (;;); })</script>`),
    },
    options: { selector: '#p' },
    formats: ['png'],
    check: (seen) => {
      seen.expectSize(200, 100);
      seen.expectColor(100, 90, '#00aa00');
      expect(seen.report.softTimeouts).toEqual(['settle']);
    },
  },
  {
    name: 'css: on a page that never pauses',
    isHostile: true,
    site: {
      '/': html('<script>setTimeout(() => { for (;;); }, 100)</script>', '<style>html { background: #ff0000 }</style>'),
    },
    secrets: { css: `html { background: ${marked('#00aa00')} }` },
    formats: ['png'],
    check: (seen) => seen.expectColor(300, 300, '#00aa00'),
  },
  {
    name: 'extract: from a page that keeps the main thread busy',
    isHostile: true,
    site: { '/': html(`<p>text<script>addEventListener('load', () => setTimeout(() => { for (;;); }, 0))</script>`) },
    options: { extract: [...extractNames] },
    formats: ['jpeg'],
    check: ({ rendering, report }) => {
      expect(report.softTimeouts).toEqual(['settle']);
      expect(rendering.extracted).toMatchObject({ text: 'text', markdown: 'text' });
    },
  },
];

// Each of these pages keeps a processor busy until it is stopped; the timeout is shorter than in production.
testCorpus([...loops, ...options], { slots: 1, answerTimeoutMs: 2000 });
