/// <reference lib="dom" />
import { beforeAll, describe, expect, test } from 'vitest';
import * as measures from '../../../services/renderer/page/scripts/measures.ts';
import type { PageState } from '../../../services/renderer/page/scripts/state.ts';
import { cssMayUse, noteAddedStyle } from '../../../services/renderer/page/scripts/styles.ts';
import * as tree from '../../../services/renderer/page/scripts/tree.ts';
import { foreign, type ScriptPage, sharedScriptPage } from '../../harness/script-page.ts';

declare const everyElement: typeof tree.everyElement;
declare const pageState: PageState;

let page: ScriptPage;
beforeAll(async () => {
  page = await sharedScriptPage();
});

describe('cssMayUse', () => {
  const mayUse = async (body: string) => {
    await page.show(body);
    return page.call(cssMayUse, [['fixed', 'sticky'], '[data-fixed]', 'dialog']);
  };

  test('is true for rules, styles and attributes with the effect', async () => {
    for (const body of [
      '<style>p { position: fixed }</style>',
      '<style>p { POSITION: Sticky }</style>',
      '<style>@media print { p { position: fixed } }</style>',
      '<style>b {} p { position: fixed }</style>',
      '<style>b {}</style><style>p { position: fixed }</style>',
      '<p style="position:Fixed"></p>',
      '<p style="position:sticky"></p>',
      '<p data-fixed></p>',
      '<dialog></dialog>',
    ])
      expect(await mayUse(body), body).toBe(true);
  });

  test('is true if the rules are not known', async () => {
    for (const body of [
      `<link rel="stylesheet" href="${foreign.sheet}">`,
      `<style>@import '${foreign.sheet}';</style>`,
      `<style>${'b {}'.repeat(400)}</style>`,
      '<p style="animation:x 9s">text</p><style>@keyframes x { to { opacity: 0 } }</style>',
      '<div><template shadowrootmode="open"></template></div>',
      '<my-element></my-element>',
    ])
      expect(await mayUse(body), body).toBe(true);
    await page.show('');
    await page.call(noteAddedStyle, []);
    expect(await page.call(cssMayUse, [['fixed']])).toBe(true);
  });

  test('is false otherwise', async () => {
    for (const body of [
      '<p>fixed</p><form><input name="localName"><input name="shadowRoot"></form>',
      '<style>p { position: absolute }</style><p style="position:absolute" class="fixed" title="fixed"></p>',
      `<style>${'b {}'.repeat(399)}</style>`,
      '<style>@font-face { font-family: fixed; src: url(/fixed.woff) }</style>',
      `<style>@import 'data:text/css,b%7B%7D';</style>`,
    ])
      expect(await mayUse(body), body).toBe(false);
    await page.show('');
    const adopted = (css: string) =>
      page.call(
        (rule: string) => {
          const sheet = new CSSStyleSheet();
          sheet.replaceSync(rule);
          document.adoptedStyleSheets = [sheet];
        },
        [css],
      );
    await adopted('p { position: absolute }');
    expect(await page.call(cssMayUse, [['fixed']])).toBe(false);
    await adopted('p { position: fixed }');
    expect(await page.call(cssMayUse, [['fixed']])).toBe(true);
  });
});

test('everyElement returns elements in shadow roots too, up to its limit', async () => {
  await page.show(
    '<div id="a"><template shadowrootmode="open"><i id="b"></i><i id="c"></i></template><i id="d"></i></div><i id="e"></i>',
  );
  const ids = (max?: number) =>
    page.call(
      (most: number | null) =>
        everyElement(...(most === null ? [] : [most]))
          .map(({ id, localName }) => id || localName)
          .join(' '),
      [max ?? null],
      [tree.everyElement],
    );
  expect(await ids()).toBe('html head title style body a b c d e');
  expect(await ids(7)).toBe('html head title style body a b');
});

test('layOutAll makes the browser lay out all boxes', async () => {
  await page.show(
    `<p style="content-visibility:auto">text</p><p style="content-visibility:hidden">text</p>
     <div><template shadowrootmode="open"><p style="content-visibility:auto !important">text</p></template></div>
     <form style="content-visibility:auto"><input name="style"></form>`,
  );
  await page.call(tree.layOutAll, [], [tree.everyElement, cssMayUse]);
  const values = await page.read(
    () =>
      everyElement()
        .map((each) => getComputedStyle(each).contentVisibility)
        .filter((value) => value !== 'visible'),
    [tree.everyElement],
  );
  expect(values).toEqual(['hidden']);
});

describe('measurePage', () => {
  const measured = async (body: string, head = '') => {
    await page.show(body, head);
    return page.call(measures.measurePage, []);
  };
  const view = { viewWidth: 640, viewHeight: 480, left: 0 };
  const box = (width: number, height: number, more = '') =>
    `<div style="width:${width}px;height:${height}px;${more}"></div>`;

  test('returns the size of the content', async () => {
    expect(await measured(box(10, 100))).toEqual({ ...view, width: 640, height: 480, contentHeight: 100 });
    expect(await measured(box(900, 1000.4))).toEqual({ ...view, width: 900, height: 1000, contentHeight: 1001 });
    expect(await measured(box(10, 700), '<style>html { height: 100% }</style>')).toMatchObject({
      height: 700,
      contentHeight: 700,
    });
    expect(
      await measured(box(10, 700), '<style>html, body { height: 100% } body { margin-top: 10px }</style>'),
    ).toMatchObject({ contentHeight: 710 });
    expect(await measured(box(10, 100, 'position:absolute;top:900px'))).toMatchObject({
      height: 1000,
      contentHeight: 0,
    });
  });

  test('includes boxes that scroll the content', async () => {
    await page.show(box(10, 2000, 'position:fixed;top:0') + box(10, 600));
    const height = await page
      .read(() => {
        const element = document.querySelector('div') as Element;
        pageState.webcaptureScroller = { scrolled: element, panes: [{ element, scrolled: element, chain: [] }] };
        scrollTo(0, 50);
      })
      .then(() => page.call(measures.measurePage, []));
    expect(height).toMatchObject({ height: 2050, contentHeight: 2050 });
  });

  test('returns how far the content extends to the left', async () => {
    const left = async (style: string) => (await measured(box(900, 10), `<style>${style}</style>`)).left;
    expect(await left('body { direction: rtl }')).toBe(260);
    expect(await left('body { direction: rtl; writing-mode: vertical-lr }')).toBe(0);
    expect(await left('body { writing-mode: vertical-rl }')).toBe(260);
    expect(await left('body { writing-mode: sideways-rl }')).toBe(260);
    expect(await left('body { writing-mode: vertical-lr }')).toBe(0);
    expect(await left('')).toBe(0);
  });

  test.each([
    ['of the element that scrolls the page', '#tall', { height: 900, width: 800 }],
    ['of the root if no element scrolls it', null, { height: 480, width: 640 }],
  ])('returns the size %s', async (_, scrolling, size) => {
    await page.show(`<div id="tall" style="overflow:auto;width:10px;height:10px">${box(800, 900)}</div>`);
    await page.call(
      (selector: string | null) => {
        const value = selector === null ? null : document.querySelector(selector);
        Object.defineProperty(document, 'scrollingElement', { value });
      },
      [scrolling],
    );
    expect(await page.call(measures.measurePage, [])).toMatchObject(size);
    expect(await page.call(measures.readContentHeight, [])).toBe(size.height);
  });

  test('works without a body', async () => {
    await page.show('');
    await page.read(() => document.body.remove());
    expect(await page.call(measures.measurePage, [])).toEqual({ ...view, width: 640, height: 480, contentHeight: 0 });
  });
});

test('hasMoreCells counts the cells that have a box', async () => {
  const more = async (cells: string, max: number) => {
    await page.show(`<table><tr>${cells}</table>`);
    return page.call(measures.hasMoreCells, [max]);
  };
  expect(await more('<td>a<th>b<td>c', 2)).toBe(true);
  expect(await more('<td>a<th>b<td>c', 3)).toBe(false);
  expect(await more('<td>a<th>b<td hidden>c', 2)).toBe(false);
  expect(await more('<td>a<th>b<td hidden>c', 1)).toBe(true);
});

test('hasMoreCells reads no box if the document has few cells', async () => {
  await page.show('<table><tr><td>a<td>b</table>');
  await page.read(() => {
    Element.prototype.checkVisibility = () => {
      throw new Error('a box was read');
    };
  });
  expect(await page.call(measures.hasMoreCells, [2])).toBe(false);
  await expect(page.call(measures.hasMoreCells, [1])).rejects.toThrow('a box was read');
});

test('readPageFacts, readContentHeight and readLayoutWidth read the document', async () => {
  await page.show('<div id="wall" style="width:900px;height:700px">text</div>');
  await page.read(() => void (document.title = 'x'.repeat(2001)));
  expect(await page.call(measures.readPageFacts, ['#wall'])).toEqual({
    title: 'x'.repeat(2000),
    url: 'http://page.test/',
    wall: true,
  });
  expect(await page.call(measures.readPageFacts, ['#none'])).toMatchObject({ wall: false });
  expect(await page.call(measures.readContentHeight, [])).toBe(700);
  expect(await page.call(measures.readLayoutWidth, [])).toBe(640);
  await page.read(() => Object.defineProperty(document, 'scrollingElement', { value: null }));
  expect(await page.call(measures.readLayoutWidth, [])).toBe(640);
  await expect.poll(() => page.call(measures.hasPainted, [])).toBe(true);
  await page.read(() => void (performance.getEntriesByType = () => []));
  expect(await page.call(measures.hasPainted, [])).toBe(false);
});
