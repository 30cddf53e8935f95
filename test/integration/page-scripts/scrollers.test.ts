// @module-tag long
// @module-tag page-script
/// <reference lib="dom" />
import { beforeAll, describe, expect, test } from 'vitest';
import * as scrollers from '../../../services/renderer/page/scripts/scrollers.ts';
import type { PageState } from '../../../services/renderer/page/scripts/state.ts';
import { everyElement } from '../../../services/renderer/page/scripts/tree.ts';
import { foreign, type ScriptPage, sharedScriptPage } from '../../harness/script-page.ts';

declare const noteFrameHeight: typeof scrollers.noteFrameHeight;
declare const pageState: PageState;

const { findScroller, growScroller, hasLargeForeignFrame, scrollerHelpers, unrollScroller } = scrollers;

let page: ScriptPage;
beforeAll(async () => {
  page = await sharedScriptPage();
});

const helpers = [everyElement, ...scrollerHelpers, scrollers.noteFrameHeight];
const find = () => page.call(findScroller, [], helpers);

/** A box at the top left with content of a height in CSS pixels. */
const pane = (id: string, width: number, height: number, content: number, style = 'overflow-y:auto') =>
  `<div id="${id}" style="position:absolute;left:0;top:0;width:${width}px;height:${height}px;${style}"><p style="margin:0;height:${content}px"></p></div>`;

const readHeights = () =>
  page.read(() =>
    Object.fromEntries(
      [...document.querySelectorAll('[id]')].map((each) => [each.id, each.getBoundingClientRect().height]),
    ),
  );

describe('findScroller', () => {
  test('finds boxes that together cover 40 % of the viewport', async () => {
    for (const [body, excess] of [
      [pane('a', 640, 192, 500), 308],
      [pane('a', 640, 191, 500), null],
      [pane('a', 320, 192, 500) + pane('b', 320, 192, 400, 'overflow-y:scroll;left:320px'), 308],
      [pane('a', 320, 192, 400) + pane('b', 320, 192, 500, 'overflow-y:scroll;left:320px'), 308],
      // Each box must have a tenth of the width and a quarter of the height.
      [pane('a', 640, 119, 500) + pane('b', 640, 119, 500, 'top:200px;overflow-y:auto'), null],
      [pane('a', 63, 480, 900) + pane('b', 500, 300, 500, 'left:100px;overflow-y:auto'), 200],
      [pane('a', 64, 480, 900) + pane('b', 500, 300, 500, 'left:100px;overflow-y:auto'), 420],
      // Content out of view does not count.
      [pane('a', 640, 480, 900, 'top:288px;overflow-y:auto'), 420],
      [pane('a', 640, 480, 900, 'top:289px;overflow-y:auto'), null],
      [pane('a', 640, 480, 900, 'top:-289px;overflow-y:auto'), null],
      [pane('a', 640, 480, 900, 'left:-400px;overflow-y:auto'), null],
      [pane('a', 640, 480, 900, 'left:400px;overflow-y:auto'), null],
    ] as const) {
      await page.show(body, '<style>html { overflow: hidden }</style>');
      expect(await find(), body).toBe(excess);
    }
  });

  test('finds only visible boxes that scroll', async () => {
    for (const [style, excess] of [
      ['overflow-y:auto', 420],
      ['overflow-y:hidden', null],
      ['overflow-y:clip', null],
      ['overflow-y:auto;opacity:0', null],
      ['overflow-y:auto;visibility:hidden', null],
      ['overflow-y:auto;height:898px', 2],
      ['overflow-y:auto;height:899px', null],
    ] as const) {
      await page.show(pane('a', 640, 480, 900, style), '<style>html { overflow: hidden }</style>');
      expect(await find(), style).toBe(excess);
    }
  });

  test('finds none in a document that scrolls by more than a quarter of the viewport itself', async () => {
    const body = (height: number) => `<div style="height:${height}px"></div>${pane('a', 640, 480, 900)}`;
    await page.show(body(600));
    expect(await find()).toBe(420);
    await page.show(body(601));
    expect(await find()).toBeNull();
    await page.show(body(601), '<style>html { overflow: hidden }</style>');
    expect(await find()).toBe(420);
  });

  test('finds no root that scrolls by less', async () => {
    await page.show('<div style="height:600px"></div>', '<style>html { overflow: auto }</style>');
    expect(await find()).toBeNull();
  });

  test('counts the area of a box in another one once', async () => {
    const nested = (height: number) =>
      `<section style="position:absolute;left:0;top:0;width:640px;height:${height}px;overflow-y:auto">
         <div style="height:${height}px;overflow-y:auto"><p style="margin:0;height:900px"></p></div><p style="margin:0;height:100px"></p></section>`;
    await page.show(nested(191));
    expect(await find()).toBeNull();
    await page.show(nested(192));
    expect(await find()).toBe(708);
  });

  test('treats a box inside a box that scrolls the page as content', async () => {
    const nested = (
      content: number,
    ) => `<div id="outer" style="position:absolute;left:0;top:0;width:640px;height:480px;overflow-y:auto">
      <p style="margin:0;height:${content}px">${pane('inner', 640, 480, 1900)}</p></div>`;
    await page.show(nested(601).replaceAll(/<(\/?)p/g, '<$1section'));
    expect(await find()).toBe(121);
    await page.show(nested(600).replaceAll(/<(\/?)p/g, '<$1section'));
    expect(await find()).toBe(1420);
    const found = await page.read(() => pageState.webcaptureScroller?.panes.map(({ element }) => element.id));
    expect(found).toEqual(['inner', 'outer']);
  });

  test('finds boxes in shadow roots, and frames', async () => {
    await page.show(
      `<div id="host" style="position:absolute;inset:0"></div><script>host.attachShadow({ mode: 'open' }).innerHTML =
         '<div style="height:480px;overflow:auto"><p style="margin:0;height:900px"></p></div>'</script>`,
    );
    expect(await find()).toBe(420);
    const chain = await page.read(() =>
      pageState.webcaptureScroller?.panes[0]?.chain.map(({ localName }) => localName),
    );
    expect(chain).toEqual(['div', 'div', 'body', 'html']);
    const frame = (source: string) =>
      `<iframe style="position:absolute;inset:0;border:0;width:640px;height:480px" ${source}></iframe>`;
    await page.show(frame(`srcdoc="<body style='margin:0;height:900px'>"`));
    expect(await find()).toBe(420);
    await page.call(growScroller, [], helpers);
    expect(await page.read(() => document.querySelector('iframe')?.clientHeight)).toBe(900);
    await page.show(frame(`src="${foreign.frame}"`));
    expect(await find()).toBeNull();
    await page.read(() => noteFrameHeight(document.querySelector('iframe') as HTMLIFrameElement, 700), helpers);
    expect(await find()).toBe(220);
    await page.call(growScroller, [], helpers);
    expect(await page.read(() => document.querySelector('iframe')?.clientHeight)).toBe(700);
  });
});

test('hasLargeForeignFrame tells whether a frame of another origin may scroll the page', async () => {
  for (const [width, height, source, isLarge] of [
    [64, 120, foreign.frame, true],
    [63, 120, foreign.frame, false],
    [64, 119, foreign.frame, false],
    [640, 480, 'about:blank', false],
  ] as const) {
    await page.show(`<iframe style="border:0;width:${width}px;height:${height}px" src="${source}"></iframe>`);
    expect(await page.call(hasLargeForeignFrame, [], helpers), `${width} × ${height} ${source}`).toBe(isLarge);
  }
});

describe('growScroller', () => {
  test('makes boxes and what is around them taller by the same height, and keeps what is above and below', async () => {
    await page.show(
      `<div id="app"><header id="head"></header><div id="row"><nav id="side"></nav><div id="pane"><p id="content"></p></div></div><footer id="foot"></footer></div>`,
      `<style>html, body { height: 100% } p { margin: 0 } #app { height: 100% !important; display: grid; grid-template-rows: 10% 1fr 10% } #row { display: flex; min-height: 0 }
        #side { width: 100px } #pane { flex: 1; overflow: auto; max-height: 50vh !important } #content { height: 1000px }</style>`,
    );
    const before = await readHeights();
    expect(before).toMatchObject({ app: 480, head: 48, row: 384, side: 384, pane: 240, foot: 48 });
    expect(await find()).toBe(760);
    await page.call(growScroller, [], helpers);
    expect(await readHeights()).toEqual({
      app: 1240,
      head: 48,
      row: 1144,
      side: 1144,
      pane: 1000,
      content: 1000,
      foot: 48,
    });
  });

  test('keeps the heights of boxes that overlap the scrolled box by at most 1 px', async () => {
    await page.show(
      `<main><i id="head"></i><i id="lower"></i><div id="pane"><p></p></div><i id="foot"></i><i id="higher"></i><i id="fixed"></i></main>`,
      `<style>main { position: relative; display: block; height: 480px } i { position: absolute; height: 10%; width: 9px }
        #head { top: 0 } #lower { top: 1px } #pane { position: absolute; top: 47px; width: 640px; height: 385px; overflow: auto } #foot { top: 431px }
        #higher { top: 430px } #fixed { height: 40px } p { margin: 0; height: 1385px }</style>`,
    );
    await page.read(() => document.querySelector('main')?.append(document.createElementNS('urn:other', 'foreign')));
    expect(await find()).toBe(1000);
    await page.call(growScroller, [], helpers);
    expect(await readHeights()).toEqual({ head: 48, lower: 148, pane: 1385, foot: 48, higher: 148, fixed: 40 });
    expect(await page.read(() => document.querySelector('#fixed')?.hasAttribute('style'))).toBe(false);
  });

  test('makes an ancestor taller that lies above the scrolled box', async () => {
    await page.show(
      `<header id="head"><div id="pane"><p></p></div></header>`,
      `<style>#head { height: 40px } #pane { position: absolute; top: 40px; width: 640px; height: 440px; overflow: auto } p { margin: 0; height: 1440px }</style>`,
    );
    expect(await find()).toBe(1000);
    await page.call(growScroller, [], helpers);
    expect(await readHeights()).toEqual({ head: 1040, pane: 1440 });
  });

  test('keeps the heights of boxes in the same shadow root', async () => {
    await page.show(
      `<main style="position:absolute;inset:0"><template shadowrootmode="open"><header style="height:10%"></header>
         <div style="height:90%;overflow:auto"><p style="margin:0;height:1432px"></p></div></template></main>`,
    );
    expect(await find()).toBe(1000);
    await page.call(growScroller, [], helpers);
    const heights = await page.read(() =>
      [...(document.querySelector('main')?.shadowRoot?.children ?? [])].map((each) => each.clientHeight),
    );
    expect(heights).toEqual([48, 1432]);
  });
});

test.each([
  ['growScroller', growScroller],
  ['unrollScroller', unrollScroller],
])('%s leaves boxes alone that do not scroll any more, and pages without any', async (_, change) => {
  await page.show(pane('a', 640, 480, 900));
  await page.call(change, [], helpers);
  await find();
  await page.read(() => document.querySelector('p')?.remove());
  await page.call(change, [], helpers);
  expect(await page.read(() => document.querySelector('#a')?.getAttribute('style'))).not.toContain('important');
});

describe('unrollScroller', () => {
  const unroll = async (body: string, style = '') => {
    await page.show(body, `<style>${style}</style>`);
    await find();
    await page.call(unrollScroller, []);
  };

  test('lets heights follow the content, and clips what was hidden at the sides', async () => {
    await unroll(
      '<div id="app"><div id="wide"><div id="pane"><p id="content"></p></div></div></div>',
      `html, body { height: 100% } p { margin: 0 } #app { height: 480px !important; overflow: hidden; contain: size } #wide { overflow-x: clip }
       #pane { height: 480px; overflow: auto; container-type: size } #content { height: 900px }`,
    );
    expect(await readHeights()).toEqual({ app: 900, wide: 900, pane: 900, content: 900 });
    const [overflows, minHeights] = await page.read(() => {
      const all = ['#app', '#wide', '#pane'].map((id) => document.querySelector<HTMLElement>(id) as HTMLElement);
      return [all.map((each) => getComputedStyle(each).overflow), all.map(({ style }) => style.minHeight)];
    });
    expect(overflows).toEqual(['clip visible', 'clip visible', 'visible']);
    expect(minHeights).toEqual(['', '', '']);
    await page.read(() => document.querySelector('#content')?.setAttribute('style', 'height:950px'));
    expect(await readHeights()).toEqual({ app: 950, wide: 950, pane: 950, content: 950 });
  });

  test('takes fixed boxes out of the viewport, in their places', async () => {
    await unroll(
      '<div id="pane"><p id="content"></p></div>',
      'body { position: relative; margin: 7px } p { margin: 0 } #pane { position: fixed; left: 20px; top: 30px; right: 0; bottom: 0; padding: 5px; overflow: auto } #content { height: 900px }',
    );
    const seen = await page.read(() => {
      const element = document.querySelector('#pane') as Element;
      const { left, top, width, height } = element.getBoundingClientRect();
      return { position: getComputedStyle(element).position, left, top, width, height };
    });
    expect(seen).toEqual({ position: 'absolute', left: 20, top: 30, width: 620, height: 910 });
  });

  test('gives boxes that cannot follow their content a minimum height', async () => {
    await unroll(
      '<div id="pane"><p id="content"></p></div>',
      'p { margin: 0 } #pane { height: 480px; overflow: auto; position: relative; min-height: 9px; transition: all 60s } #content { position: absolute; height: 900px; width: 9px }',
    );
    expect(await readHeights()).toEqual({ pane: 900, content: 900 });
  });

  test('gives the root no minimum height', async () => {
    await unroll(pane('pane', 640, 480, 900));
    const heights = await page.read(() =>
      [document.documentElement, document.body].map(({ style }) => style.minHeight),
    );
    expect(heights).toEqual(['', '420px']);
  });

  test('makes a frame as tall as its content', async () => {
    await unroll(
      `<iframe id="frame" style="border:0;width:640px;height:480px" srcdoc="<body style='margin:0;height:900px'>"></iframe>`,
      'iframe { max-height: 480px }',
    );
    expect(await readHeights()).toEqual({ frame: 900 });
  });
});
