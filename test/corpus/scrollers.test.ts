import { expect } from 'vitest';
import { html } from '../harness/engine.ts';
import { svgAnswer, withOther } from './answers.ts';
import { testCorpus, type HardPage } from './corpus.ts';
import { row, rowsOf } from './rows.ts';
import { whole } from './whole.ts';

const [red, blue] = ['#ff0000', '#0000ff'] as const;

/** A header of 40 px, then ten rows. */
const shellThere: NonNullable<HardPage['check']> = (seen) => {
  seen.expectSize(320, 1040);
  seen.expectColumn(200, [[20, red], row(0, 40), row(4, 40), row(9, 40)]);
  expect(seen.report.truncated).toBe(false);
};

const pages: readonly HardPage[] = [
  {
    name: 'an app shell in a column, whose middle scrolls',
    site: {
      '/': html(
        `<style>html, body { height: 100%; overflow: hidden } .shell { display: flex; flex-direction: column; height: 100vh } header { height: 40px; background: ${red} } main { flex: 1; overflow: auto }</style>
         <div class="shell"><header></header><main>${rowsOf(10)}</main></div>`,
      ),
    },
    options: whole,
    check: shellThere,
  },
  {
    name: 'an app shell in a grid, with a side navigation',
    site: {
      '/': html(
        `<style>body { height: 100dvh; display: grid; grid: 40px 1fr / 80px 1fr; overflow: hidden } header { grid-column: 1 / 3; background: ${red} } nav { background: ${blue} } main { overflow-y: auto; min-height: 0 }</style>
         <header></header><nav></nav><main>${rowsOf(10)}</main>`,
      ),
    },
    options: whole,
    check: async (seen) => {
      await shellThere(seen);
      seen.expectColumn(40, [
        [100, blue],
        [1030, blue],
      ]);
    },
  },
  {
    name: 'a scroller inside other scrollers, with heights in px',
    site: {
      '/': html(
        `<style>.a { height: 240px; display: flex } nav { width: 80px; background: ${blue} } .b { flex: 1; height: 100%; overflow: hidden } .c { height: 100%; overflow-y: scroll }</style>
         <div class="a"><nav></nav><div class="b"><div class="c">${rowsOf(10)}</div></div></div>`,
      ),
    },
    options: whole,
    check: (seen) => {
      seen.expectSize(320, 1000);
      seen.expectColumn(200, [row(0), row(5), row(9)]);
      seen.expectColumn(40, [
        [10, blue],
        [990, blue],
      ]);
    },
  },
  {
    name: 'a scroller that is fixed to the edges of the viewport',
    site: {
      '/': html(
        `<style>header { position: fixed; top: 0; left: 0; right: 0; height: 40px; background: ${red} } main { position: fixed; inset: 40px 0 0; overflow: auto }</style><header></header><main>${rowsOf(10)}</main>`,
      ),
    },
    options: whole,
    check: shellThere,
  },
  {
    name: 'a body that scrolls instead of the document',
    isLong: true,
    site: {
      '/': html(
        `<style>html { overflow: hidden; height: 100% } body { height: 100%; overflow: auto }</style>${rowsOf(10)}`,
      ),
    },
    options: whole,
    check: (seen) => {
      seen.expectSize(320, 1000);
      seen.expectColumn(160, [row(0), row(5), row(9)]);
    },
  },
  {
    name: 'a scroller that covers the viewport starts with its first pictures, after it was scrolled to its end and back',
    site: {
      '/': html(
        `<style>#list { height: 100vh; overflow-y: scroll; padding: 20px 60px; box-sizing: border-box } img { display: block; width: 200px; height: 100px } p { height: 50px; margin: 0 }</style>
         <div id="list"><img src="/red.svg"><p>first</p><img src="/red.svg">${'<p>paragraph</p>'.repeat(50)}<img src="/blue.svg"></div>
         <script>list.addEventListener('scroll', () => undefined)</script>`,
      ),
      '/red.svg': svgAnswer(red),
      '/blue.svg': svgAnswer(blue),
    },
    options: { isFullPage: true, viewport: { width: 1280, height: 720 } },
    // The browser draws wrong pictures in about half of the captures, so one correct capture does not prove much.
    formats: ['png', 'jpeg', 'png'],
    check: (seen) => {
      seen.expectSize(1280, 2890);
      seen.expectColumn(110, [
        [70, red],
        [220, red],
        [2820, blue],
      ]);
    },
  },
  {
    name: 'a scroller in a document that scrolls because of its margin',
    site: {
      '/': html(`<style>main { margin: 8px 0; height: 100vh; overflow: auto }</style><main>${rowsOf(10)}</main>`),
    },
    options: whole,
    formats: ['png'],
    check: (seen) => {
      seen.expectSize(320, 1016);
      seen.expectColumn(160, [row(0, 8), row(5, 8), row(9, 8)]);
    },
  },
  {
    name: 'a scroller in a shadow tree, with content in the document',
    site: {
      '/': html(
        `<style>html, body, x-content { display: block; height: 100%; overflow: hidden }</style>
         <x-content><template shadowrootmode="open"><style>main { height: 100%; overflow-y: auto }</style><main><slot></slot></main></template>${rowsOf(10)}</x-content>`,
      ),
    },
    options: whole,
    formats: ['png'],
    check: (seen) => {
      seen.expectSize(320, 1000);
      seen.expectColumn(160, [row(0), row(5), row(9)]);
    },
  },
  {
    name: 'a scroller below a part that takes more than half of the viewport, and keeps its height',
    site: {
      '/': html(
        `<style>html, body { height: 100%; overflow: hidden } header { height: 55%; background: ${red} } main { height: 45%; overflow-y: auto }</style>
         <header></header><main>${rowsOf(10)}</main>`,
      ),
    },
    options: whole,
    formats: ['png'],
    check: (seen) => {
      seen.expectSize(320, 1132);
      seen.expectColumn(160, [[100, red], row(0, 132), row(5, 132), row(9, 132)]);
    },
  },
  {
    name: 'three panes that scroll side by side are complete',
    site: {
      '/': html(
        `<style>html, body { height: 100%; overflow: hidden } body { display: flex } main { flex: 1; overflow-y: auto }</style>
         <main>${rowsOf(4)}</main><main>${rowsOf(8)}</main><main>${rowsOf(6)}</main>`,
      ),
    },
    options: whole,
    formats: ['png'],
    check: (seen) => {
      seen.expectSize(320, 800);
      seen.expectColumn(50, [row(0), row(3), [450, '#ffffff']]);
      seen.expectColumn(160, [row(0), row(7)]);
      seen.expectColumn(270, [row(0), row(5), [650, '#ffffff']]);
    },
  },
  // Full Chromium runs frames of other sites in separate processes.
  ...[false, true].map((antiBot): HardPage => ({
    name: `a frame of another site that fills the viewport${antiBot ? ', with antiBot' : ''}`,
    site: {
      '/': withOther(
        html(
          `<style>html, body { height: 100%; overflow: hidden } iframe { display: block; border: 0; width: 100%; height: 100% }</style><iframe src="{other}/inner"></iframe>`,
        ),
      ),
      '/inner': html(rowsOf(8)),
    },
    options: { ...whole, antiBot },
    formats: ['png'],
    isLong: antiBot,
    check: (seen) => {
      seen.expectSize(320, 800);
      seen.expectColumn(100, [row(0), row(2), row(5), row(7)]);
    },
  })),
  {
    name: 'a frame of the same site that fills the viewport',
    isLong: true,
    site: {
      '/': html(
        `<style>html, body { height: 100%; overflow: hidden } iframe { display: block; border: 0; width: 100%; height: 100% }</style><iframe src="/inner"></iframe>`,
      ),
      '/inner': html(rowsOf(10)),
    },
    options: whole,
    formats: ['png'],
    check: (seen) => {
      seen.expectSize(320, 1000);
      seen.expectColumn(160, [row(0), row(5), row(9)]);
    },
  },
  {
    name: 'a list in a box that draws its visible rows on the scroll event of the box',
    site: {
      '/': html(
        `<style>html, body { height: 100% } main { height: 100%; overflow: auto } #list { position: relative; height: 1000px } #list div { position: absolute; left: 0; width: 100%; height: 100px; background: ${blue} }</style>
         <main><div id="list"></div></main><script>const box = document.querySelector('main'); const draw = () => { list.replaceChildren();
           for (let index = Math.floor(box.scrollTop / 100); index * 100 < Math.min(1000, box.scrollTop + box.clientHeight); index += 1)
             list.insertAdjacentHTML('beforeend', '<div style="top:' + index * 100 + 'px"></div>'); };
           box.addEventListener('scroll', draw); draw()</script>`,
      ),
    },
    options: whole,
    formats: ['png'],
    check: (seen) => {
      seen.expectSize(320, 1000);
      seen.expectColumn(
        160,
        [50, 350, 550, 950].map((y) => [y, blue]),
      );
    },
  },
  {
    name: 'parts of 100vh in a scroller that snaps to them',
    site: {
      '/': html(
        `<style>main { height: 100vh; overflow-y: scroll; scroll-snap-type: y mandatory } section { height: 100vh; scroll-snap-align: start }</style>
         <main><section style="background:#ff0000"></section><section style="background:#00aa00"></section><section style="background:#0000ff"></section></main>`,
      ),
    },
    options: whole,
    check: (seen) => {
      seen.expectSize(320, 720);
      seen.expectColumn(160, [
        [5, '#ff0000'],
        [235, '#ff0000'],
        [360, '#00aa00'],
        [485, '#0000ff'],
        [715, '#0000ff'],
      ]);
    },
  },
  {
    name: 'a document that snaps to its parts',
    isLong: true,
    site: {
      '/': html(
        `<style>html { scroll-snap-type: y mandatory } section { height: 100vh; scroll-snap-align: start }</style>
         <section style="background:#ff0000"></section><section style="background:#00aa00"></section><section style="background:#0000ff"></section>`,
      ),
    },
    options: whole,
    check: (seen) => {
      seen.expectSize(320, 720);
      seen.expectColumn(160, [
        [5, '#ff0000'],
        [360, '#00aa00'],
        [715, '#0000ff'],
      ]);
    },
  },
  {
    name: 'smooth scrolling, a sticky header, and overridden functions',
    isLong: true,
    site: {
      '/': html(
        `<style>html { scroll-behavior: smooth } header { position: sticky; top: 0; height: 40px; background: ${red} } #end { height: 100px }</style><header></header>${rowsOf(19)}<div id="end"></div>
         <script>window.scrollTo = window.scroll = window.scrollBy = () => {}; Element.prototype.scrollTo = Element.prototype.scrollIntoView = () => {}; window.requestAnimationFrame = () => 0;
           new IntersectionObserver(([entry]) => { if (entry.isIntersecting) end.style.background = '${blue}'; }).observe(end);</script>`,
      ),
    },
    options: whole,
    check: (seen) => {
      seen.expectSize(320, 2040);
      seen.expectColumn(160, [[20, red], row(0, 40), row(1, 40), row(18, 40), [1990, blue]]);
    },
  },
  {
    name: 'a page that turns wheel events into slides shows its first slide',
    isLong: true,
    site: {
      '/': html(
        `<style>html, body { height: 100%; overflow: hidden } section { height: 100vh } #deck { transition: transform .5s }</style>
         <div id="deck"><section style="background:#ff0000"></section><section style="background:#00aa00"></section></div>
         <script>let slide = 0; const go = (event) => { event.preventDefault(); slide = 1; deck.style.transform = 'translateY(-100vh)' };
           addEventListener('wheel', go, { passive: false }); addEventListener('touchmove', go, { passive: false });</script>`,
      ),
    },
    options: whole,
    check: (seen) => {
      seen.expectColumn(160, [
        [5, '#ff0000'],
        [235, '#ff0000'],
      ]);
    },
  },
  {
    name: 'a page that reverts all scrolling',
    isLong: true,
    site: {
      '/': html(
        `${rowsOf(10)}<script>addEventListener('scroll', () => { document.documentElement.scrollTop = 0; })</script>`,
      ),
    },
    options: whole,
    check: (seen) => {
      seen.expectSize(320, 1000);
      seen.expectColumn(160, [row(0), row(9)]);
    },
  },
  {
    name: 'a small list that scrolls stays small',
    site: {
      '/': html(
        `<div style="height:100px;overflow:auto">${rowsOf(5)}</div><div style="height:140px;background:${red}"></div>${rowsOf(5)}`,
      ),
    },
    options: whole,
    check: (seen) => {
      seen.expectSize(320, 740);
      seen.expectColumn(100, [row(0), [120, red], row(0, 240), row(4, 240)]);
    },
  },
];

testCorpus(pages);
