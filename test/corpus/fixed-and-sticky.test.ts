import { expect } from 'vitest';
import sharp from 'sharp';
import { html } from '../harness/engine.ts';
import { answer, pngOf } from './answers.ts';
import { testCorpus, type HardPage } from './corpus.ts';
import { row, rowsOf } from './rows.ts';
import { whole } from './whole.ts';

const [red, green, blue] = ['#ff0000', '#00aa00', '#0000ff'] as const;

/** 64 × 48 px: red on the left and blue on the right, with a green border of 8 px. */
const photo = answer(
  'image/png',
  await sharp({ create: { width: 64, height: 48, channels: 3, background: green } })
    .composite([
      { input: { create: { width: 24, height: 32, channels: 3, background: red } }, left: 8, top: 8 },
      { input: { create: { width: 24, height: 32, channels: 3, background: blue } }, left: 32, top: 8 },
    ])
    .png()
    .toBuffer(),
);

/** A section as tall as the viewport, starting at `top`, shows the whole photo. */
const showsPhoto = (top: number): readonly (readonly [x: number, y: number, color: string])[] => [
  [160, top + 15, green],
  [80, top + 120, red],
  [240, top + 120, blue],
  [160, top + 225, green],
];

const pages: readonly HardPage[] = [
  {
    name: 'a sticky header, a fixed footer and a chat bubble appear once',
    site: {
      '/': html(
        `<style>header { position: sticky; top: 0; height: 40px; background: ${red} } footer { position: fixed; bottom: 0; height: 30px; width: 100%; background: ${blue} }
          #chat { position: fixed; right: 10px; bottom: 50px; width: 40px; height: 40px; background: ${green} }</style>
         <header></header>${rowsOf(10)}<footer></footer><div id="chat"></div>`,
      ),
    },
    options: whole,
    check: (seen) => {
      seen.expectSize(320, 1040);
      seen.expectColumn(100, [[20, red], row(0, 40), row(1, 40), row(5, 40), row(8, 40), [1025, blue]]);
      seen.expectColumn(290, [row(1, 40), row(5, 40), [970, green]]);
    },
  },
  {
    name: 'a fixed header stays at the top',
    site: {
      '/': html(
        `<div style="position:fixed;top:0;left:0;right:0;height:40px;background:${red};z-index:9"></div>${rowsOf(10)}`,
      ),
    },
    options: whole,
    check: (seen) => {
      seen.expectSize(320, 1000);
      seen.expectColumn(160, [[20, red], [60, row(0)[1]], row(3), row(9)]);
    },
  },
  {
    name: 'a header that hides on scrolling down and shrinks away from the top looks as at the top',
    site: {
      '/': html(
        `<style>#bar { position: fixed; top: 0; left: 0; right: 0; height: 60px; background: ${red}; transition: all .3s }
          #bar.small { height: 20px } #bar.gone { transform: translateY(-100%) }</style><div id="bar"></div>${rowsOf(10)}
         <script>let last = 0; addEventListener('scroll', () => {
           bar.classList.toggle('gone', scrollY > last); bar.classList.toggle('small', scrollY > 10); last = scrollY;
         })</script>`,
      ),
    },
    options: whole,
    check: (seen) => seen.expectColumn(160, [[5, red], [55, red], [65, row(0)[1]], row(2)]),
  },
  {
    name: 'sticky headings and a sticky sidebar are at their natural positions',
    site: {
      '/': html(
        `<style>h2 { position: sticky; top: 0; margin: 0; height: 50px; background: ${red} } aside { position: sticky; top: 0; height: 120px; width: 100px; background: ${blue} }
          main { flex: 1 } body { display: flex; align-items: flex-start }</style>
         <aside></aside><main><section><h2></h2>${rowsOf(4)}</section><section><h2></h2>${rowsOf(4)}</section></main>`,
      ),
    },
    options: whole,
    check: (seen) => {
      seen.expectSize(320, 900);
      seen.expectColumn(200, [[25, red], row(0, 50), row(3, 50), [475, red], row(0, 500), row(3, 500)]);
      seen.expectColumn(50, [
        [10, blue],
        [110, blue],
        [130, '#ffffff'],
        [800, '#ffffff'],
      ]);
    },
  },
  {
    name: 'a sticky footer is at the end of the page',
    site: {
      '/': html(`${rowsOf(8)}<footer style="position:sticky;bottom:0;height:50px;background:${red}"></footer>`),
    },
    options: whole,
    check: (seen) => {
      seen.expectSize(320, 850);
      seen.expectColumn(160, [row(0), row(1), row(2), row(7), [825, red]]);
    },
  },
  {
    name: 'a fixed element behind the page covers all of it',
    isLong: true,
    site: {
      '/': html(
        `<div style="position:fixed;inset:0;z-index:-1;background:${green}"></div><div style="height:1000px"></div>`,
      ),
    },
    options: whole,
    check: (seen) => expect(seen.picture.share(green, seen.exact ? 0 : 10)).toBeGreaterThan(0.99),
  },
  {
    name: 'a fixed element of 100vh behind the page covers all of it',
    site: {
      '/': html(
        `<style>.back { position: fixed; top: 0; width: 100%; height: 100vh; z-index: -1; background: ${green} }</style><div class="back"></div><div style="height:1000px"></div>`,
      ),
    },
    options: whole,
    check: (seen) => expect(seen.picture.share(green, seen.exact ? 0 : 10)).toBeGreaterThan(0.99),
  },
  {
    name: 'a section that a script fixes, and replaces by a placeholder of the same size, covers nothing of the page',
    site: {
      '/': html(
        `<style>section { position: fixed; top: 0; width: 100%; height: 100vh; z-index: -1; background: ${green} }</style><section></section><div id="placeholder"></div>${rowsOf(10)}
         <script>const copy = () => { placeholder.style.height = document.querySelector('section').offsetHeight + 'px'; requestAnimationFrame(copy) }; copy()</script>`,
      ),
    },
    options: whole,
    check: (seen) => {
      seen.expectSize(320, 1240);
      seen.expectColumn(160, [[20, green], [220, green], row(0, 240), row(9, 240)]);
    },
  },
  {
    name: 'a fixed pseudo-element behind the page covers all of it',
    site: {
      '/': html(
        `<style>body::before { content: ''; position: fixed; top: 0; width: 100%; height: 100vh; z-index: -1; background: ${green} }</style><div style="height:1000px"></div>`,
      ),
    },
    options: whole,
    check: (seen) => expect(seen.picture.share(green, seen.exact ? 0 : 10)).toBeGreaterThan(0.99),
  },
  {
    name: 'an attached background of the page covers all of it',
    site: {
      '/': html(`<style>body { background: url(/a.png) fixed }</style><div style="height:1000px"></div>`),
      '/a.png': await pngOf(green),
    },
    options: whole,
    check: (seen) => expect(seen.picture.share(green, seen.exact ? 0 : 10)).toBeGreaterThan(0.99),
  },
  {
    name: 'an attached background of the page that covers the viewport leaves no gap',
    isLong: true,
    site: {
      '/': html(
        `<style>body { background: url(/photo.png) center / cover no-repeat fixed }</style><div style="height:1000px"></div>`,
      ),
      '/photo.png': photo,
    },
    options: whole,
    check: (seen) => expect(seen.picture.share('#ffffff', seen.exact ? 0 : 10)).toBe(0),
  },
  {
    name: 'attached photos that cover the viewport keep their size',
    site: {
      '/': html(
        `<style>section { height: 100vh; background: url(/photo.png) center / cover no-repeat fixed } p { margin: 0; height: 400px }</style>
         <section></section><p></p><section></section><p></p>`,
      ),
      '/photo.png': photo,
    },
    options: whole,
    check: (seen) => {
      seen.expectSize(320, 1280);
      for (const [x, y, is] of [...showsPhoto(0), ...showsPhoto(640)]) seen.expectColor(x, y, is);
      seen.expectColor(160, 300, '#ffffff');
    },
  },
  {
    name: 'an attached photo on a pseudo-element as tall as the viewport keeps its size',
    site: {
      '/': html(
        `<style>header { position: relative; height: 240px } header::before { content: ''; position: absolute; top: 0; left: 0; width: 100%; height: 100vh;
          background: url(/photo.png) center / cover no-repeat fixed }</style><header></header>${rowsOf(8)}`,
      ),
      '/photo.png': photo,
    },
    options: whole,
    check: (seen) => {
      seen.expectSize(320, 1040);
      for (const [x, y, is] of showsPhoto(0)) seen.expectColor(x, y, is);
      seen.expectColumn(160, [row(0, 240), row(7, 240)]);
    },
  },
  {
    name: 'layers that a script moves with the scroll position look as at the top',
    isLong: true,
    site: {
      '/': html(
        `<div id="layer" style="position:absolute;top:0;left:0;width:100%;height:400px;background:${green};z-index:-1"></div><div style="height:400px"></div>${rowsOf(6)}
         <script>const move = () => { layer.style.transform = 'translateY(' + scrollY * 0.5 + 'px)'; };
           addEventListener('scroll', move); addEventListener('resize', move); move();</script>`,
      ),
    },
    options: whole,
    check: (seen) => {
      seen.expectSize(320, 1000);
      seen.expectColumn(160, [[5, green], [395, green], row(0, 400), row(5, 400)]);
    },
  },
  {
    name: 'a fixed image as tall as the viewport, next to the content, is in the first screen',
    site: {
      '/': html(
        `<style>img { position: fixed; top: 0; left: 0; width: 50%; height: 100vh; object-fit: cover }</style><img src="/photo.png"><main style="margin-left:50%">${rowsOf(10)}</main>`,
      ),
      '/photo.png': photo,
    },
    options: whole,
    formats: ['png'],
    check: (seen) => {
      seen.expectColumn(10, [
        [120, red],
        [225, green],
        [250, '#ffffff'],
        [990, '#ffffff'],
      ]);
      seen.expectColumn(200, [row(0), row(9)]);
    },
  },
  {
    name: 'a fixed image in the middle of the viewport is in the middle of the first screen',
    site: {
      '/': html(
        `<img src="/photo.png" style="position:fixed;left:50%;top:50%;transform:translate(-50%,-50%);width:64px;height:48px">${rowsOf(10)}`,
      ),
      '/photo.png': photo,
    },
    options: whole,
    formats: ['png'],
    check: (seen) => {
      seen.expectColor(145, 120, red);
      seen.expectColumn(160, [row(0), row(4), row(5)]);
    },
  },
  {
    name: 'in a shadow tree, a dialog stays in the first viewport, and a sidebar keeps its footer while its background continues',
    site: {
      '/': html(
        `<x-shell><template shadowrootmode="open"><style>p { position: fixed; left: 50%; top: 50%; margin: -20px; width: 40px; height: 40px; background: ${red} }
          nav { position: fixed; left: 0; top: 0; bottom: 0; width: 80px; box-shadow: 9px 0 ${red}; border-bottom: 4px solid ${red}; border-radius: 0 0 20px 20px; background: ${blue}; display: flex; flex-direction: column; justify-content: space-between } b { height: 30px; background: ${green} }</style>
          <p></p><nav><b>top</b><b>foot</b></nav></template></x-shell>${rowsOf(10)}`,
      ),
    },
    options: whole,
    formats: ['png'],
    check: (seen) => {
      seen.expectColumn(160, [[120, red], row(4), row(5)]);
      seen.expectColumn(70, [
        [15, green],
        [120, blue],
        [225, green],
        [245, blue],
        [990, blue],
      ]);
    },
  },
  {
    name: 'a fixed header whose height is a percentage of the viewport',
    site: {
      '/': html(
        `<header style="position:fixed;top:0;left:0;right:0;height:12.5vh;background:${red}">Logo</header><main style="padding-top:12.5vh">${rowsOf(10)}</main>`,
      ),
    },
    options: whole,
    formats: ['png'],
    check: (seen) => seen.expectColumn(160, [[25, red], row(0, 30), row(9, 30)]),
  },
];

testCorpus(pages);
