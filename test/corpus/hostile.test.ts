// @module-tag long
import { expect } from 'vitest';
import { html } from '../harness/engine.ts';
import { answer } from './answers.ts';
import { testCorpus, type HardPage } from './corpus.ts';

const green = '#00aa00';
const image = 'data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw==';
const paint = `document.body.style.background = '${green}'`;

const isGreen: HardPage['check'] = (seen) => seen.expectColour(300, 300, green);

/** A page that is green, and then does its worst. */
const hostile = (name: string, script: string, more: Partial<HardPage> = {}): HardPage => ({
  check: isGreen,
  ...more,
  name,
  isHostile: true,
  formats: ['png'],
  options: { timeout: 10_000, ...more.options },
  site: { '/': html(`<img src="${image}"><script>${paint}; ${script}</script>`), ...more.site },
});
/** It goes on for ever: its scripts are stopped, and what is there is taken. */
const isStopped: HardPage['check'] = (seen) => {
  seen.expectColour(300, 300, green);
  expect(seen.report.softTimeouts).toContain('settle');
  expect(seen.report.images).toEqual({ loaded: 1, failed: 0, pending: 0 });
};
const timesOut: HardPage['fails'] = { code: 'CAPTURE_TIMEOUT' };

const pages: readonly HardPage[] = [
  hostile('a busy loop at once: there is no page', 'for (;;);', { options: { timeout: 800 }, fails: timesOut }),
  hostile('a question asked until it is answered with yes', `while (!confirm('really?'));`, {
    options: { timeout: 800 },
    fails: timesOut,
  }),
  hostile(
    'a busy loop after load',
    `addEventListener('load', () => setTimeout(() => { for (;;) /(x+x+)+y/.test('x'.repeat(40)); }, 0))`,
    {
      check: isStopped,
    },
  ),
  hostile(
    'a busy loop as soon as the viewport grows, for a whole page',
    `matchMedia('(min-height: 1500px)').addEventListener('change', () => { for (;;); });
     document.body.insertAdjacentHTML('beforeend', '<p style="height:2000px"></p>')`,
    { options: { isFullPage: true }, check: isStopped },
  ),
  hostile(
    'a form whose fields are named like what its elements have',
    `document.body.insertAdjacentHTML('beforeend', '<form style="height:100vh"><input name="style"><input name="className"></form><p style="height:2000px">')`,
    { options: { isFullPage: true } },
  ),
  hostile(
    'a busy loop in each frame that is drawn',
    `const spin = () => { const end = performance.now() + 200; while (performance.now() < end); requestAnimationFrame(spin) }; spin()`,
  ),
  hostile(
    'busy workers',
    `const url = URL.createObjectURL(new Blob(['for (;;);'])); for (let i = 0; i < 4; i++) new Worker(url)`,
  ),
  hostile(
    'a busy frame of another site',
    `const f = document.createElement('iframe'); f.src = location.origin.replace('127.0.0.1', 'other.test') + '/busy'; document.body.append(f)`,
    {
      site: { '/busy': '<script>for (;;);</script>' },
      options: { timeout: 1500, imageTimeout: 300 },
    },
  ),
  hostile(
    '100,000 elements',
    `document.body.append(document.createRange().createContextualFragment('<i></i>'.repeat(100_000)))`,
    {
      options: { timeout: 20_000 },
    },
  ),
  hostile(
    'elements in elements, 20,000 deep',
    `let at = document.body; for (let i = 0; i < 20_000; i++) at = at.appendChild(document.createElement('div'))`,
    // The engine's own stack is not that high.
    { options: { timeout: 15_000 }, fails: { code: 'CAPTURE_FAILED', message: /crashed/ } },
  ),
  hostile(
    'a page that grows without end',
    `setInterval(() => { for (let i = 0; i < 1000; i++) document.body.append('x') }, 10)`,
  ),
  hostile(
    '10,000 messages, each of which begets another',
    `onmessage = () => postMessage(1); for (let i = 0; i < 10_000; i++) postMessage('x'.repeat(10))`,
  ),
  hostile(
    'a flood of the console',
    `for (let i = 0; i < 1000; i++) console.log('x'.repeat(1000), { i }, document.body); setInterval(() => console.error('y'), 0)`,
  ),
  hostile(
    'errors without end',
    `setInterval(() => { throw new Error('x'.repeat(1000)) }, 0); Promise.reject(new Error('y'))`,
  ),
  hostile('a flood of history', `try { for (let i = 0; i < 2000; i++) history.pushState(i, '', '#' + i) } catch {}`),
  hostile(
    'workers that beget workers',
    `const source = 'setInterval(() => new Worker(location.href), 300)'; new Worker(URL.createObjectURL(new Blob([source])))`,
  ),
  hostile(
    'frames within frames without end',
    `const f = document.createElement('iframe'); f.src = '/frame'; document.body.append(f)`,
    {
      site: {
        '/frame': answer(
          'text/html',
          '<script>document.write(`<iframe src="/frame?${Math.random()}"></iframe>`)</script>',
          { afterMs: 20 },
        ),
      },
      options: { timeout: 1500 },
    },
  ),
  {
    name: 'buffers until there is no memory',
    isHostile: true,
    site: {
      '/': html(
        `<script>const hoard = []; setInterval(() => hoard.push(new Uint8Array(50_000_000).fill(1)), 5)</script><img src="/hang">`,
      ),
      '/hang': () => undefined,
    },
    options: { timeout: 20_000 },
    formats: ['png'],
    fails: { code: 'CAPTURE_FAILED', message: /crashed|memory/ },
  },
  {
    // It is green by its style alone: as it never stays for long enough, it may be taken without its scripts.
    name: 'a page that reloads itself for ever',
    isHostile: true,
    site: {
      '/': html(
        `<script>addEventListener('load', () => setTimeout(() => location.reload(), 20))</script>`,
        `<style>body { background: ${green} }</style>`,
      ),
    },
    formats: ['png'],
    options: { timeout: 10_000 },
    check: isGreen,
  },
];

testCorpus(pages);
