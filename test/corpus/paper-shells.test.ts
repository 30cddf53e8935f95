import { expect } from 'vitest';
import { html } from '../harness/engine.ts';
import { testCorpus, type HardPage } from './corpus.ts';

const rowsOf = (word: string) =>
  Array.from({ length: 80 }, (_, row) => `<p style="height:40px;margin:0">${word}${row}.</p>`).join('');
const rows = rowsOf('Row');

/** A page of one window, whose content is scrolled in a box of it: all of it is on paper, each row once and whole. */
function shell(name: string, body: string, style: string, others: readonly string[] = []): HardPage {
  return {
    name: `all of an app shell is on paper: ${name}`,
    site: { '/': html(body, `<style>${style}</style>`) },
    formats: ['pdf'],
    check: ({ pdf, report }) => {
      const text = pdf?.pages.map((page) => page.text).join(' ') ?? '';
      // On the first page alone they have no room.
      expect(pdf?.pages).toHaveLength(3);
      expect(text.match(/Row\d+\./g)).toEqual(Array.from({ length: 80 }, (_, row) => `Row${row}.`));
      for (const other of others) expect(text).toContain(other);
      expect(report.truncated).toBe(false);
    },
  };
}

const pages: readonly HardPage[] = [
  shell(
    'a body that cannot be scrolled, with a main part that can',
    `<div id="app"><nav>Menu</nav><main>${rows}</main></div>`,
    'html, body { height: 100%; overflow: hidden } #app { display: flex; height: 100vh } main { flex: 1; overflow-y: auto; height: 100% }',
    ['Menu'],
  ),
  shell(
    'a column that is fixed to the window',
    `<div id="app"><header>Head</header><main>${rows}</main><footer>Foot</footer></div>`,
    '#app { position: fixed; inset: 0; display: flex; flex-direction: column } main { flex: 1; min-height: 0; overflow-y: auto }',
    ['Head', 'Foot'],
  ),
  shell(
    'boxes between two bars, all of them positioned',
    `<header>Head</header><main>${rows}</main><footer>Foot</footer>`,
    `body { height: 100vh; position: relative } header, footer, main { position: absolute; left: 0; right: 0 } header { top: 0 } footer { bottom: 0 }
     main { top: 20px; bottom: 20px; overflow: auto }`,
    ['Head', 'Foot'],
  ),
  shell(
    'a grid with rows of the height of the window, and two panes',
    `<div id="app"><header>Head</header><nav>${rowsOf('Nav')}</nav><main>${rows}</main></div>`,
    `html, body { height: 100%; overflow: hidden } #app { display: grid; grid-template: 60px calc(100vh - 60px) / 200px 1fr }
     header { grid-column: 1 / 3 } nav, main { overflow: auto }`,
    ['Head', 'Nav0.', 'Nav79.'],
  ),
  shell(
    'a shadow tree',
    `<x-app></x-app><template><style>#app { height: 100vh; display: flex; overflow: hidden } main { flex: 1; height: 100%; overflow-y: scroll; contain: strict }</style>
     <div id="app"><main>${rows}</main></div></template>
     <script>document.querySelector('x-app').attachShadow({ mode: 'open' }).append(document.querySelector('template').content)</script>`,
    'html, body, x-app { display: block; height: 100% }',
  ),
  shell(
    'a frame that fills the window',
    `<iframe srcdoc='<body style="margin:0">${rows.replaceAll('40px', '20px;padding:10px 0')}'></iframe>`
      .replaceAll('"', '&quot;')
      .replaceAll("'", '"'),
    'html, body { height: 100%; overflow: hidden } iframe { border: 0; width: 100%; height: 100%; display: block }',
  ),
];

testCorpus(pages);
