// @module-tag long
import { html } from '../harness/engine.ts';
import { answer } from './answers.ts';
import { testCorpus, type HardPage } from './corpus.ts';
import { green, hostilePage } from './hostile-page.ts';

const pages: readonly HardPage[] = [
  hostilePage(
    'a form whose fields are named after DOM members',
    `document.body.insertAdjacentHTML('beforeend', '<form style="height:100vh"><input name="style"><input name="className"></form><p style="height:2000px">')`,
    { options: { isFullPage: true } },
  ),
  hostilePage(
    '100,000 elements',
    `document.body.append(document.createRange().createContextualFragment('<i></i>'.repeat(100_000)))`,
    {
      options: { timeout: 20_000 },
    },
  ),
  hostilePage(
    '20,000 nested elements',
    `let at = document.body; for (let i = 0; i < 20_000; i++) at = at.appendChild(document.createElement('div'))`,
    // The depth exceeds the engine's own stack.
    { options: { timeout: 15_000 }, fails: { code: 'CAPTURE_FAILED', message: /crashed/ } },
  ),
  hostilePage(
    'a page that grows endlessly',
    `setInterval(() => { for (let i = 0; i < 1000; i++) document.body.append('x') }, 10)`,
  ),
  hostilePage(
    'a flood of console messages',
    `for (let i = 0; i < 1000; i++) console.log('x'.repeat(1000), { i }, document.body); setInterval(() => console.error('y'), 0)`,
  ),
  hostilePage(
    'endless errors',
    `setInterval(() => { throw new Error('x'.repeat(1000)) }, 0); Promise.reject(new Error('y'))`,
  ),
  hostilePage(
    'a flood of history entries',
    `try { for (let i = 0; i < 2000; i++) history.pushState(i, '', '#' + i) } catch {}`,
  ),
  hostilePage(
    'workers that start workers',
    `const source = 'setInterval(() => new Worker(location.href), 300)'; new Worker(URL.createObjectURL(new Blob([source])))`,
  ),
  hostilePage(
    'endlessly nested frames',
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
    name: 'buffers until memory is exhausted',
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
    // The page is green because of its style alone. It never stays long enough for its scripts, so the picture may be taken without them.
    name: 'a page that reloads itself endlessly',
    isHostile: true,
    site: {
      '/': html(
        `<script>addEventListener('load', () => setTimeout(() => location.reload(), 20))</script>`,
        `<style>body { background: ${green} }</style>`,
      ),
    },
    formats: ['png'],
    options: { timeout: 10_000 },
    check: (seen) => seen.expectColor(300, 300, green),
  },
];

testCorpus(pages);
