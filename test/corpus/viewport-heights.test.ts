import { expect } from 'vitest';
import { html } from '../harness/engine.ts';
import { answer, withOther } from './answers.ts';
import { testCorpus, type HardPage } from './corpus.ts';
import { row, rowsOf } from './rows.ts';
import { whole } from './whole.ts';

const red = '#ff0000';

/** A first part of the height of the viewport, 240 px, with rows below it. */
const hero = (style: string, rest = '') =>
  ({ '/': html(`<style>${style}</style><div class="hero"></div>${rowsOf(6)}${rest}`) }) as const;
const heroOf =
  (height: number): NonNullable<HardPage['check']> =>
  (seen) => {
    seen.expectSize(320, height + 600);
    seen.expectColumn(160, [[5, red], [height - 5, red], row(0, height), row(5, height)]);
  };

const pages: readonly HardPage[] = [
  ...['height: 100vh', 'height: 100dvh', 'height: 100svh', 'min-height: 100lvh', 'height: 100vb'].map(
    (rule): HardPage => ({
      name: `a first part of ${rule}`,
      site: hero(`.hero { ${rule}; background: ${red} }`),
      options: whole,
      check: heroOf(240),
      // The other heights are in the long tier.
      isLong: !rule.endsWith('100vh'),
    }),
  ),
  {
    name: 'a first part that leaves space for the header',
    site: hero(`.hero { height: calc(100vh - 60px); background: ${red} }`),
    options: whole,
    check: heroOf(180),
  },
  {
    name: 'a first part of 100% of a root of 100%',
    isLong: true,
    site: hero(`html, body { height: 100% } .hero { height: 100%; background: ${red} }`),
    options: whole,
    check: heroOf(240),
  },
  {
    name: 'a first part that a script makes as tall as the window',
    isLong: true,
    site: hero(
      `.hero { background: ${red} }`,
      `<script>const fit = () => { document.querySelector('.hero').style.height = innerHeight + 'px' };
        addEventListener('resize', fit); fit();</script>`,
    ),
    options: whole,
    check: heroOf(240),
  },
  {
    name: 'a first part with a variable that a script sets to a percentage of the window',
    isLong: true,
    site: hero(
      `.hero { height: calc(var(--vh) * 100); background: ${red} }`,
      `<script>const fit = () => document.documentElement.style.setProperty('--vh', innerHeight / 100 + 'px');
        addEventListener('resize', fit); fit();</script>`,
    ),
    options: whole,
    check: heroOf(240),
  },
  {
    name: 'a first part that its pseudo-element makes as tall as the viewport',
    site: hero(`.hero { background: ${red} } .hero::before { content: ''; display: block; height: 100vh }`),
    options: whole,
    check: heroOf(240),
  },
  {
    name: 'a pseudo-element as tall as the viewport covers the first screen only',
    isLong: true,
    site: hero(
      `.hero { height: 240px } body { position: relative } body::after { content: ''; position: absolute; top: 0; left: 0; width: 100%; height: 100vh; background: ${red} }`,
    ),
    options: whole,
    check: heroOf(240),
  },
  {
    name: 'a first part in a shadow tree',
    site: {
      '/': html(
        `<x-hero></x-hero>${rowsOf(6)}<script>document.querySelector('x-hero').attachShadow({ mode: 'open' }).innerHTML =
          '<style>div { height: 100vh; background: ${red} }</style><div></div>';</script>`,
      ),
    },
    options: whole,
    check: heroOf(240),
  },
  {
    name: 'parts that are percentages of the viewport: heights, minimum heights, paddings, margins, a grid',
    site: {
      '/': html(
        `<style>.a { min-height: 100vh; background: #ff0000 } .b { height: 50vh; background: #00aa00 } .c { padding-top: 25vh; height: 40px; background: #0000ff }
          .d { margin-top: 25vh; height: 40px; background: #000000 } .e { display: grid; grid-template-rows: 50vh 60px } .e :first-child { background: #ff00ff } .e :last-child { background: #00ffff }</style>
         <div class="a"></div><div class="b"></div><div class="c"></div><div class="d"></div><div class="e"><div></div><div></div></div>`,
      ),
    },
    options: whole,
    check: (seen) => {
      seen.expectSize(320, 240 + 120 + 100 + 100 + 180);
      seen.expectColumn(160, [
        [120, '#ff0000'],
        [350, '#00aa00'],
        [450, '#0000ff'],
        [490, '#ffffff'],
        [540, '#000000'],
        [570, '#ff00ff'],
        [670, '#ff00ff'],
        [690, '#00ffff'],
        [730, '#00ffff'],
      ]);
    },
  },
  {
    name: 'widths, borders, columns, transforms and background sizes that are percentages of the viewport',
    isLong: true,
    site: {
      '/': html(
        `<style>div { height: 100px } .a { width: 50vh; background: #ff0000 } .b { width: 25vmax; background: #00aa00 } .c { border-left: 50vh solid #0000ff } .d { padding-left: 50vh; background: #ff00ff content-box }
          .e { display: grid; grid-template-columns: 50vh 1fr } .e :first-child { background: #00ffff } .f { width: 120px; background: #000000; transform: translateX(50vh) }
          .g { background: linear-gradient(#aa0000, #aa0000) no-repeat 0 0 / 50vh 50vh } .h { max-width: 50vh; background: #0000aa }</style>
         ${[...'abcdefgh'].map((name) => `<div class="${name}">${name === 'e' ? '<div></div><div></div>' : ''}</div>`).join('')}`,
      ),
    },
    options: whole,
    check: (seen) => {
      seen.expectSize(320, 800);
      const at = (x: number, colors: readonly string[]) =>
        seen.expectColumn(
          x,
          colors.map((color, index) => [index * 100 + 50, color] as const),
        );
      const white = '#ffffff';
      at(75, ['#ff0000', '#00aa00', '#0000ff', white, '#00ffff', white, '#aa0000', '#0000aa']);
      at(115, ['#ff0000', white, '#0000ff', white, '#00ffff', white, '#aa0000', '#0000aa']);
      at(125, [white, white, white, '#ff00ff', white, '#000000', white, white]);
    },
  },
  {
    name: 'media queries of the aspect ratio of the viewport, in a shadow tree and in a style sheet of another origin',
    site: {
      '/': withOther(
        html(
          `<p style="height:100px;margin:0"></p><x-part><template shadowrootmode="open"><style>div { height: 100px; background: #00aa00 } @media (orientation: portrait) { div { background: #ff0000 } }</style><div></div></template></x-part>
           <div style="height:800px"></div>`,
          '<link rel="stylesheet" href="{other}/shape.css">',
        ),
      ),
      '/shape.css': answer(
        'text/css',
        'p { background: #0000ff } @media (orientation: portrait) { p { background: #ff0000 } }',
      ),
    },
    options: whole,
    // Paper has a different aspect ratio.
    formats: ['png'],
    check: (seen) =>
      seen.expectColumn(160, [
        [50, '#0000ff'],
        [150, '#00aa00'],
      ]),
  },
  {
    name: 'media queries of the height and the aspect ratio of the viewport keep their results',
    site: {
      '/': html(
        `<style>body { background: #00aa00 } @media (orientation: portrait) { body { background: #ff0000 } }
          @media (min-height: 500px) { body { background: #0000ff } } @media (max-aspect-ratio: 1/1) { body { background: #000000 } }</style><div style="height:1000px"></div>`,
      ),
    },
    options: whole,
    // Paper has a different aspect ratio.
    formats: ['png'],
    check: (seen) => expect(seen.picture.share('#00aa00', seen.exact ? 0 : 10)).toBe(1),
  },
  {
    name: 'a root that grows with its content, and a footer at its end',
    isLong: true,
    site: {
      '/': html(
        `<style>body { min-height: 100vh; display: flex; flex-direction: column } main { flex: 1 } footer { height: 50px; background: ${red} }</style><main>${rowsOf(6)}</main><footer></footer>`,
      ),
    },
    options: whole,
    check: (seen) => {
      seen.expectSize(320, 650);
      seen.expectColumn(160, [row(0), row(5), [640, red]]);
    },
  },
  {
    name: 'a page that is shorter than the viewport has the height of the viewport',
    site: { '/': html(`<div style="height:100px;background:${red}"></div>`) },
    options: whole,
    // A PDF ends with its content.
    formats: ['png'],
    check: (seen) => {
      seen.expectSize(320, 240);
      seen.expectColumn(160, [
        [50, red],
        [150, '#ffffff'],
      ]);
      expect(seen.report).toMatchObject({ truncated: false, blank: false });
    },
  },
];

testCorpus(pages);
