import { expect } from 'vitest';
import { html } from '../harness/engine.ts';
import { svgAnswer } from './answers.ts';
import { testCorpus, type HardPage } from './corpus.ts';
import { row, rowsOf } from './rows.ts';
import { whole } from './whole.ts';

const [red, green, blue] = ['#ff0000', '#00aa00', '#0000ff'] as const;

/**
 * Returns a script that runs `then` in the page in two cases: when the viewport grows beyond 300 px, and when it is 240 px high again.
 * `isTall` distinguishes the two.
 */
const onGrowth = (then: string) =>
  `<script>matchMedia('(min-height: 300px)').addEventListener('change', ({ matches: isTall }) => { ${then} })</script>`;

/** Pages that detect that the viewport grows from 320 × 240 px to the height of the page. */
const pages: readonly HardPage[] = [
  {
    name: 'texts that a script hides in a tall viewport, three of ten, are in the picture',
    isLong: true,
    site: {
      '/': html(
        `<style>p { height: 100px; margin: 0; background: ${green} } .tall p:nth-child(3n) { visibility: hidden }</style>${'<p>text</p>'.repeat(10)}
         ${onGrowth(`document.body.classList.toggle('tall', isTall)`)}`,
      ),
    },
    options: whole,
    formats: ['png'],
    check: (seen) => {
      seen.expectSize(320, 1000);
      seen.expectColumn(
        200,
        [50, 250, 550, 850, 950].map((y) => [y, green]),
      );
      expect(seen.report).toMatchObject({ strategy: 'grown', truncated: false });
    },
  },
  {
    name: 'a box that a script shows only in a tall viewport is not in the picture',
    site: {
      '/': html(
        `<style>#box { height: 100px; background: ${red}; display: none } .tall #box { display: block }</style><div id="box"></div>${rowsOf(8)}
         ${onGrowth(`document.body.classList.toggle('tall', isTall)`)}`,
      ),
    },
    options: whole,
    formats: ['png'],
    check: (seen) => {
      seen.expectSize(320, 800);
      seen.expectColumn(200, [row(0), row(7)]);
      expect(seen.report).toMatchObject({ strategy: 'grown', truncated: false });
    },
  },
  {
    name: 'a box that slides in while the viewport is tall, and stays, is in the picture',
    site: {
      '/': html(
        `<style>#box { height: 100px; background: ${red}; display: none } .tall #box { display: block }</style>${rowsOf(8)}<div id="box"></div>
         ${onGrowth(`document.body.classList.add('tall')`)}`,
      ),
    },
    options: whole,
    formats: ['png'],
    check: (seen) => {
      seen.expectSize(320, 900);
      seen.expectColumn(200, [row(0), row(7), [850, red]]);
      expect(seen.report).toMatchObject({ strategy: 'grown', truncated: false });
    },
  },
  {
    name: 'the gap between rows stays a percentage of the requested viewport',
    site: {
      '/': html(
        `<style>main { display: grid; row-gap: 25vh } div { height: 300px; background: ${green} }</style><main><div></div><div></div></main>`,
      ),
    },
    options: whole,
    check: (seen) => {
      seen.expectSize(320, 660);
      seen.expectColumn(200, [
        [295, green],
        [305, '#ffffff'],
        [355, '#ffffff'],
        [365, green],
        [655, green],
      ]);
      if (seen.format === 'png') expect(seen.report.strategy).toBe('grown');
    },
  },
  {
    name: 'the basis of a flex item stays a percentage of the requested viewport',
    site: {
      '/': html(
        `<style>main { display: flex; flex-direction: column } div { flex: none; height: 300px; background: ${green} } #share { flex-basis: 25vh; background: ${blue} }</style><main><div></div><div id="share"></div><div></div></main>`,
      ),
    },
    options: whole,
    check: (seen) => {
      seen.expectSize(320, 660);
      seen.expectColumn(200, [
        [295, green],
        [305, blue],
        [355, blue],
        [365, green],
        [655, green],
      ]);
      if (seen.format === 'png') expect(seen.report.strategy).toBe('grown');
    },
  },
  {
    name: 'a pane that the page has scrolled to its end stays there when a picture appears in it after the viewport has grown',
    site: {
      '/': html(
        `<div id="log" style="height:120px;overflow:auto">${rowsOf(4)}</div>${rowsOf(6)}
         <script>log.scrollTop = log.scrollHeight</script>${onGrowth(`const picture = new Image(); picture.style.display = 'block'; picture.src = '/late'; log.append(picture)`)}`,
      ),
      '/late': svgAnswer(blue, 600),
    },
    options: whole,
    formats: ['png'],
    check: (seen) => {
      seen.expectSize(320, 720);
      seen.expectColumn(50, [[110, blue], [30, blue], row(0, 120), row(5, 120)]);
      expect(seen.report.strategy).toBe('grown');
    },
  },
];

testCorpus(pages);
