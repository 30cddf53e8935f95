// @module-tag long
// @module-tag page-script
/// <reference lib="dom" />
import { beforeAll, describe, expect, test } from 'vitest';
import { findFrames, putFrameBack, showFrame } from '../../../services/renderer/page/scripts/frame-shots.ts';
import { everyElement } from '../../../services/renderer/page/scripts/tree.ts';
import { foreign, type ScriptPage, sharedScriptPage } from '../../harness/script-page.ts';

let page: ScriptPage;
beforeAll(async () => {
  page = await sharedScriptPage();
});

const frame = (style: string, more = '') =>
  `<iframe src="${foreign.frame}" style="position:absolute;border:0;${style}" ${more}></iframe>`;

describe('findFrames', () => {
  const find = () => page.call(findFrames, [], [everyElement]);

  test('returns the visible parts of frames of other origins below the viewport', async () => {
    await page.show(
      `${frame('left:-10px;top:400px;width:300px;height:200px')}${frame('left:500px;top:600px;width:300px;height:200px')}
       ${frame('left:0;top:280px;width:300px;height:200px')}${frame('left:0;top:281px;width:30px;height:200px')}
       ${frame('left:0;top:600px;width:300px;height:200px;visibility:hidden')}${frame('left:0;top:600px;width:300px;height:200px;opacity:0')}
       ${frame('left:640px;top:600px;width:300px;height:200px')}${frame('left:0;top:600px;width:300px;height:0')}
       <iframe srcdoc="text" style="position:absolute;top:600px"></iframe>
       <div id="clip"><div id="plain">${frame('left:-20px;top:-30px;width:300px;height:200px')}</div></div>
       <style>html, body { overflow-x: hidden } #clip { position: absolute; left: 100px; top: 700px; width: 50px; height: 60px; overflow: hidden }
         #plain { position: absolute; left: 0; top: 0; width: 1px; height: 1px }</style>`,
    );
    expect(await find()).toEqual([
      { x: 0, y: 400, width: 290, height: 200, innerX: 10, innerY: 0 },
      { x: 500, y: 600, width: 140, height: 200, innerX: 0, innerY: 0 },
      { x: 0, y: 281, width: 30, height: 200, innerX: 0, innerY: 0 },
      { x: 100, y: 700, width: 50, height: 60, innerX: 20, innerY: 30 },
    ]);
  });

  test('finds at most 30 frames', async () => {
    await page.show(frame('top:600px;width:9px;height:9px').repeat(31));
    expect(await find()).toHaveLength(30);
  });
});

test('showFrame shows a frame in the top left corner of the viewport, and putFrameBack restores it', async () => {
  await page.show(
    `<p style="opacity:1">text</p><style>html { background: red } iframe { min-width: 900px; min-height: 10px; max-width: 50px; max-height: 90%; margin: 9px; animation: x 1s infinite }
       @keyframes x { to { opacity: 0.5 } } div { position: absolute; top: 600px; transform: scale(1) rotate(0deg); overflow: hidden; width: 200px; height: 90px }</style>
     <div><iframe id="one" src="${foreign.frame}" style="border: 5px solid green; padding: 3px; background: blue; width: 150px; height: 80px"></iframe></div>
     <iframe id="two" src="${foreign.frame}"></iframe>`,
  );
  await page.page.evaluate(() => document.querySelector('#two')?.setAttribute('data-x', ''));
  const looks = () =>
    page.read(() =>
      [...document.querySelectorAll('iframe')].map((each) => {
        const { x, y, width, height } = each.getBoundingClientRect();
        return { style: each.getAttribute('style'), popover: each.popover, box: [x, y, width, height].map(Math.round) };
      }),
    );
  const before = await looks();
  await page.call(findFrames, [], [everyElement]);
  await page.call(showFrame, [0, 10, 20]);
  const [shown] = await looks();
  expect(shown).toMatchObject({ popover: 'manual', box: [-10, -20, before[0]?.box[2], before[0]?.box[3]] });
  const { computed, root, isOpen } = await page.read(() => {
    const each = document.querySelector('iframe') as Element;
    const style = getComputedStyle(each);
    const names = ['position', 'right', 'box-sizing', 'border-top', 'padding', 'background-color', 'margin', 'display'];
    const none = [
      'overflow',
      'min-width',
      'min-height',
      'max-width',
      'max-height',
      'transform',
      'transition',
      'animation-name',
    ];
    return {
      computed: [...names, ...none].map((name) => [name, style.getPropertyValue(name)]),
      root: [getComputedStyle(document.documentElement).backgroundColor, getComputedStyle(document.body).opacity],
      isOpen: each.matches(':popover-open'),
    };
  });
  expect(Object.fromEntries(computed)).toMatchObject({
    position: 'fixed',
    'box-sizing': 'border-box',
    'border-top': '5px solid rgb(0, 128, 0)',
    padding: '3px',
    'background-color': 'rgb(0, 0, 255)',
    margin: '0px',
    display: 'block',
    overflow: 'clip',
    'min-width': '0px',
    'min-height': '0px',
    'max-width': 'none',
    'max-height': 'none',
    transform: 'none',
    transition: 'none',
    'animation-name': 'none',
  });
  expect([root, isOpen]).toEqual([['rgba(0, 0, 0, 0)', '0'], true]);
  for (const name of ['position', 'top', 'margin', 'display', 'overflow', 'min-width', 'transform'])
    expect(
      await page.call((each: string) => document.querySelector('iframe')?.style.getPropertyPriority(each), [name]),
    ).toBe('important');
  await page.call(putFrameBack, [0]);
  expect(await looks()).toEqual(before);
  expect(await page.read(() => document.adoptedStyleSheets.length)).toBe(0);
  await page.call(showFrame, [1, 0, 0]);
  await page.call(putFrameBack, [1]);
  expect(await looks()).toEqual(before);
  // The page has only two frames.
  await page.call(showFrame, [2, 0, 0]);
  await page.call(putFrameBack, [2]);
  expect(await looks()).toEqual(before);
});
