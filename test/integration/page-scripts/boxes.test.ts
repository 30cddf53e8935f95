// @module-tag long
// @module-tag page-script
/// <reference lib="dom" />
import { beforeAll, describe, expect, test } from 'vitest';
import * as boxes from '../../../services/renderer/page/scripts/boxes.ts';
import { selecting } from '../../../services/renderer/page/scripts/selecting.ts';
import { type ScriptPage, sharedScriptPage } from '../../harness/script-page.ts';

declare const boxOf: typeof boxes.boxOf;
declare const boxesAtLevels: typeof boxes.boxesAtLevels;
declare const hitsAt: typeof boxes.hitsAt;
declare const isVisible: typeof boxes.isVisible;
declare const levelsOf: typeof boxes.levelsOf;
declare const scrollToBox: typeof boxes.scrollToBox;
declare const throughFrame: typeof boxes.throughFrame;

let page: ScriptPage;
beforeAll(async () => {
  page = await sharedScriptPage();
});

const helpers = [...selecting, ...boxes.boxing];
const at = (left: number, top: number, width: number, height: number, more = '') =>
  `style="position:absolute;left:${left}px;top:${top}px;width:${width}px;height:${height}px;${more}"`;

test('boxOf and isVisible see the content of elements without a box', async () => {
  const child = `<i ${at(10, 20, 30, 40)}></i>`;
  const cases: Readonly<Record<string, readonly [html: string, box: readonly number[], isVisible: boolean]>> = {
    own: [`<div id="x" ${at(1, 2, 3, 4)}>${child}</div>`, [1, 2, 3, 4], true],
    hiddenOwn: [`<div id="x" ${at(1, 2, 3, 4, 'visibility:hidden')}></div>`, [1, 2, 3, 4], false],
    inner: [`<div id="x" ${at(1, 2, 0, 4)}>${child}</div>`, [11, 22, 30, 40], true],
    flat: [`<div id="x" ${at(1, 2, 4, 0)}>${child}<i ${at(20, 0, 100, 10)}></i></div>`, [11, 2, 110, 60], true],
    line: [`<div id="x" ${at(1, 2, 30, 0)}></div>`, [1, 2, 30, 0], true],
    column: [`<div id="x" ${at(1, 2, 0, 30)}></div>`, [1, 2, 0, 30], false],
    spaced: [`<p id="x" style="display:contents"> ${child} </p>`, [10, 20, 30, 40], true],
    form: [
      `<form id="x" style="display:contents"><input name="assignedNodes" hidden>${child}</form>`,
      [10, 20, 30, 40],
      true,
    ],
    manyHidden: [
      `<p id="x" style="display:contents"><u style="display:none">${'<b></b>'.repeat(1000)}</u>${child}</p>`,
      [10, 20, 30, 40],
      true,
    ],
    hiddenInner: [
      `<div id="x" ${at(1, 2, 0, 0)}><i ${at(1, 1, 9, 9, 'visibility:hidden')}></i></div>`,
      [1, 2, 0, 0],
      false,
    ],
    contents: [
      `<div ${at(5, 5, 50, 50)}><p id="x" style="display:contents">${child}</p></div>`,
      [15, 25, 30, 40],
      true,
    ],
    contentsThatClip: [`<p id="x" style="display:contents;overflow:hidden">${child}</p>`, [10, 20, 30, 40], true],
    none: [`<div id="x" ${at(1, 2, 0, 0)}><div style="display:none">${child}</div></div>`, [1, 2, 0, 0], false],
    clipsX: [`<div id="x" ${at(1, 2, 0, 0, 'overflow-x:clip')}>${child}</div>`, [1, 2, 0, 0], false],
    clipsY: [`<div id="x" ${at(1, 2, 0, 0, 'overflow-y:clip')}>${child}</div>`, [1, 2, 0, 0], false],
    hiddenText: [
      `<p id="x" style="display:contents;visibility:hidden">text<i ${at(1, 1, 9, 9, 'visibility:visible')}></i></p>`,
      [1, 1, 9, 9],
      true,
    ],
    slot: [
      `<span id="x" style="display:contents"><template shadowrootmode="open"><slot><i ${at(0, 0, 9, 9)}></i></slot></template>${child}</span>`,
      [10, 20, 30, 40],
      true,
    ],
    innerSlot: [
      `<span id="x" style="display:contents"><template shadowrootmode="open"><p style="display:contents"><template shadowrootmode="open"><slot></slot></template><slot></slot></p></template>${child}</span>`,
      [10, 20, 30, 40],
      true,
    ],
    slotOutside: [`<slot id="x">${child}</slot>`, [10, 20, 30, 40], true],
    emptySlot: [
      `<span id="x" style="display:contents"><template shadowrootmode="open"><slot><i ${at(0, 0, 9, 9)}></i></slot></template></span>`,
      [0, 0, 9, 9],
      true,
    ],
    many: [`<p id="x" style="display:contents">${'<u></u>'.repeat(998)}${child}</p>`, [10, 20, 30, 40], true],
    tooMany: [`<p id="x" style="display:contents">${'<u></u>'.repeat(1000)}${child}</p>`, [0, 0, 0, 0], false],
  };
  for (const [name, [html, box, visible]] of Object.entries(cases)) {
    await page.show(`<style>u { display: contents }</style>${html}`);
    const seen = await page.read(() => {
      const element = document.querySelector('#x') as Element;
      const { x, y, width, height } = boxOf(element);
      return { box: [x, y, width, height], visible: isVisible(element) };
    }, helpers);
    expect(seen, name).toEqual({ box, visible });
  }
  for (const text of [
    'text',
    '<template shadowrootmode="open">text</template>',
    '<template shadowrootmode="open"><slot></slot></template>text',
  ]) {
    await page.show(`<div id="x" style="display:contents;font:20px/30px monospace">${text}</div>`);
    const [width, height] = await page.read(() => {
      const box = boxOf(document.querySelector('#x') as Element);
      return [box.width, box.height];
    }, helpers);
    expect([width > 20, height > 10], text).toEqual([true, true]);
  }
});

test('scrollToBox scrolls to the first visible box of an element without one', async () => {
  await page.show(
    `<p id="x" style="display:contents"><u hidden></u><i ${at(0, 2000, 10, 10)}></i></p><b ${at(0, 3000, 10, 10)}></b>
     <p id="none" hidden></p><div id="own" ${at(0, 1000, 10, 10)}><i ${at(0, 2500, 10, 10)}></i></div>`,
  );
  const scrolled = (selector: string) =>
    page.call(
      (css: string) => {
        scrollTo(0, 0);
        scrollToBox(document.querySelector(css) as Element, 'end', 'nearest');
        return scrollY;
      },
      [selector],
      helpers,
    );
  expect(await scrolled('#x')).toBe(2010 - 480);
  expect(await scrolled('b')).toBe(3010 - 480);
  expect(await scrolled('#own')).toBe(1010 - 480);
  expect(await scrolled('#none')).toBe(0);
});

describe('throughFrame', () => {
  /** Returns the box of (10, 20, 30 × 40) in the frame. */
  const boxThrough = async (style: string, around = '') => {
    await page.show(
      `<div style="position:absolute;left:100px;top:200px;${around}">
         <iframe style="display:block;border:0;width:200px;height:100px;${style}"></iframe></div>`,
    );
    return page.read(() => {
      const { x, y, width, height } = throughFrame(
        document.querySelector('iframe') as Element,
        new DOMRect(10, 20, 30, 40),
      );
      return [x, y, width, height].map(Math.round);
    }, helpers);
  };

  test.each([
    ['place', '', [110, 220, 30, 40]],
    ['border', 'border:solid;border-width:3px 0 0 5px;box-sizing:border-box', [115, 223, 30, 40]],
    ['padding', 'padding:4px 0 0 6px', [116, 224, 30, 40]],
    ['rotate', 'rotate:90deg', [190, 160, 40, 30]],
    ['rotate function', 'transform:rotate(180deg)', [260, 240, 30, 40]],
    ['scale', 'scale:2 3', [20, 160, 60, 120]],
    ['one scale', 'scale:2', [20, 190, 60, 80]],
    ['scale in depth', 'scale:2 3 4', [20, 160, 60, 120]],
    ['zoom', 'zoom:2', [120, 240, 60, 80]],
    ['zoom and rotation', 'zoom:2;rotate:90deg', [280, 120, 80, 60]],
    ['rotation in depth', 'rotate:x 60deg', [110, 235, 30, 20]],
    ['rotation in depth by little', 'rotate:x 11.478deg', [110, 220, 30, 40]],
    ['rotation in depth by little to the side', 'rotate:y 11.478deg', [110, 220, 30, 40]],
    ['skew', 'transform:matrix(1, 0, 1, 1, 0, 0)', [80, 220, 70, 40]],
    ['perspective', 'transform:perspective(200px) translateZ(100px)', [20, 190, 60, 80]],
    ['perspective of a low frame', 'height:1px;transform:perspective(200px) translateZ(100px)', [20, 240, 60, 80]],
    ['perspective of a narrow frame', 'width:1px;transform:perspective(200px) translateZ(100px)', [120, 190, 60, 80]],
  ])('follows the %s of the frame', async (_, style, box) => {
    expect(await boxThrough(style)).toEqual(box);
  });

  test('follows the transforms of ancestors', async () => {
    expect(await boxThrough('', 'transform-origin:0 0;transform:rotate(90deg)')).toEqual([40, 210, 40, 30]);
    expect(await boxThrough('scale:2', 'transform-origin:0 0;rotate:180deg')).toEqual([120, 130, 60, 80]);
  });
});

test('boxesAtLevels clips to frames', async () => {
  const inner = `<i ${at(-10, -20, 500, 500)}></i><b ${at(300, 300, 10, 10)}></b><u ${at(10, 20, 30, 40)}></u>`;
  await page.show(
    `<iframe ${at(100, 200, 150, 140, 'border:0;padding:1px 2px 3px 4px;box-sizing:border-box')} srcdoc="${inner.replaceAll('"', '&quot;')}"></iframe>`,
  );
  const read = (tag: string) =>
    page.call(
      (css: string) => {
        const element = document.querySelector('iframe')?.contentDocument?.querySelector(css) as Element;
        const levels = levelsOf(element);
        const found = boxesAtLevels(element, levels).map(({ x, y, width, height }) => [x, y, width, height]);
        return { found, targets: levels.map(({ target }) => target.localName) };
      },
      [tag],
      helpers,
    );
  expect(await read('i')).toEqual({
    found: [
      [-10, -20, 500, 500],
      [104, 201, 144, 136],
    ],
    targets: ['i', 'iframe'],
  });
  expect((await read('u')).found).toEqual([
    [10, 20, 30, 40],
    [114, 221, 30, 40],
  ]);
  expect((await read('b')).found[1]?.slice(2)).toEqual([0, 0]);
});

test('levelsOf finds no level of an element in a document that is not shown', async () => {
  await page.show('');
  const count = await page.read(() => levelsOf(document.implementation.createHTMLDocument().body).length, helpers);
  expect(count).toBe(0);
});

test('hitsAt finds elements in open shadow roots before their hosts', async () => {
  await page.show(
    `<div id="back" ${at(0, 0, 100, 100)}></div>
     <div id="host" ${at(0, 0, 50, 50)}><template shadowrootmode="open"><b id="inside" ${at(0, 0, 50, 50)}></b></template></div>`,
  );
  const hits = (x: number) =>
    page.call(
      (left: number) =>
        hitsAt(document, left, 10)
          .map(({ id }) => id)
          .filter(Boolean),
      [x],
      helpers,
    );
  expect(await hits(10)).toEqual(['inside', 'host', 'back']);
  expect(await hits(60)).toEqual(['back']);
});
