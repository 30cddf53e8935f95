import { expect } from 'vitest';
import { html } from '../harness/engine.ts';
import { testCorpus, type HardPage, type Seen } from './corpus.ts';

const rowsOf = (word: string, length = 80) =>
  Array.from({ length }, (_, row) => `<p style="height:40px;margin:0">${word}${row}.</p>`).join('');
const rows = rowsOf('Row');

type Check = (seen: Seen) => void;

/** A page of one window, whose content scrolls in a box: all of it is on paper, each row once and complete. */
function shell(
  name: string,
  body: string,
  style: string,
  others: readonly string[] = [],
  check: Check = () => {},
): HardPage {
  return {
    name: `all of an app shell is on paper: ${name}`,
    site: { '/': html(body, `<style>${style}</style>`) },
    formats: ['pdf'],
    check: (seen) => {
      const { pdf, report } = seen;
      const text = pdf?.pages.map((page) => page.text).join(' ') ?? '';
      // The 80 rows fill three pages.
      expect(pdf?.pages).toHaveLength(3);
      expect(text.match(/Row\d+\./g)).toEqual(Array.from({ length: 80 }, (_, row) => `Row${row}.`));
      for (const other of others) expect(text).toContain(other);
      expect(report.truncated).toBe(false);
      check(seen);
    },
  };
}

/** Position of a text, in points from the top left corner of its page, and its font size. */
function placeOf({ pdf }: Seen, text: string) {
  const piece = pdf?.pages.flatMap(({ pieces }) => pieces).find((one) => one.text === text);
  if (piece === undefined) throw new Error(`${text} is on no page`);
  return piece;
}

const pages: readonly HardPage[] = [
  shell(
    'a body that cannot be scrolled, with a main part that can',
    `<div id="app"><nav>Menu</nav><main>${rows}</main></div>`,
    'html, body { height: 100%; overflow: hidden } #app { display: flex; height: 100vh } main { flex: 1; overflow-y: auto; height: 100% }',
    ['Menu'],
  ),
  shell(
    'a column that is fixed to the viewport',
    `<div id="app"><header>Head</header><main>${rows}</main><footer>Foot</footer></div>`,
    `#app { position: fixed; inset: 40px 0 0; display: flex; flex-direction: column; text-align: right; transition: all 9s }
     main { flex: 1 1 0px; min-height: 0; max-height: 92vh; contain: strict; overflow-y: auto } p { break-inside: avoid }`,
    ['Head', 'Foot'],
    (seen) => {
      // The text is at its position, below its own upper edge and at the right edge of the column.
      expect(placeOf(seen, 'Head')).toMatchObject({
        x: expect.toSatisfy((x: number) => x > 400),
        y: expect.closeTo(40, -1),
      });
      expect(placeOf(seen, 'Foot').y - placeOf(seen, 'Row79.').y).toBeGreaterThan(29.5);
    },
  ),
  shell(
    'a main part that clips its overflow',
    `<main>${rows}<div style="width:3000px;height:1px"></div></main>`,
    'html, body { height: 100%; margin: 0 } main { height: 100vh; max-height: 100vh; overflow: hidden auto }',
    [],
    // 16 CSS pixels: the page is not scaled down.
    (seen) => expect(placeOf(seen, 'Row0.').size).toBeCloseTo(12, 1),
  ),
  shell(
    'rows that scripts show while they are in view',
    `<main>${rows}</main>
     <script>
       const observer = new IntersectionObserver((entries) => {
         for (const { isIntersecting, target } of entries) target.classList.toggle('seen', isIntersecting);
       });
       for (const row of document.querySelectorAll('p')) observer.observe(row);
     </script>`,
    `html, body { height: 100%; margin: 0; overflow: hidden } main { height: 100vh; overflow: auto }
     p { opacity: 0; visibility: hidden } .seen { opacity: 1; visibility: visible }`,
  ),
  shell(
    'rows that scripts add at the end of a list',
    `<main>${rowsOf('Row', 40)}</main>
     <script>
       const main = document.querySelector('main');
       main.onscroll = () => {
         if (main.scrollTop + main.clientHeight < main.scrollHeight - 10) return;
         for (let added = 0; added < 20 && main.children.length < 80; added += 1) {
           const row = main.lastElementChild.cloneNode();
           row.textContent = 'Row' + main.children.length + '.';
           main.append(row);
         }
       };
     </script>`,
    'html, body { height: 100%; margin: 0; overflow: hidden } main { height: 100vh; overflow: auto }',
  ),
  shell(
    'positioned boxes between two bars',
    `<header>Head</header><main>${rows}</main><footer>Foot</footer>`,
    `body { height: 100vh; position: relative } header, footer, main { position: absolute; left: 0; right: 0 } header { top: 0 } footer { bottom: 0 }
     main { top: 20px; bottom: 20px; overflow: auto }`,
    ['Head', 'Foot'],
  ),
  shell(
    'a grid with rows of the height of the viewport, and two panes',
    `<div id="app"><header>Head</header><nav>${rowsOf('Nav')}</nav><main>${rows}</main></div>`,
    `html, body { height: 100%; overflow: hidden } #app { display: grid; grid-template: 60px calc(100vh - 60px) / 200px 1fr }
     header { grid-column: 1 / 3 } nav, main { overflow: auto; container-type: size }`,
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
    'a frame that fills the viewport',
    `<iframe srcdoc='<body style="margin:0">${rows.replaceAll('40px', '20px;padding:10px 0')}'></iframe>`
      .replaceAll('"', '&quot;')
      .replaceAll("'", '"'),
    'html, body { height: 100%; overflow: hidden } iframe { border: 0; width: 100%; height: 100%; max-height: 100vh; display: block }',
  ),
];

testCorpus(pages);
