// @module-tag long
// @module-tag page-script
/// <reference lib="dom" />
import { beforeAll, describe, expect, test } from 'vitest';
import * as scenes from '../../../services/renderer/page/scripts/scenes.ts';
import type { PageState, Scene } from '../../../services/renderer/page/scripts/state.ts';
import { type ScriptPage, sharedScriptPage } from '../../harness/script-page.ts';
import { holdEffectsOf as hold } from '../../harness/scroll-effects.ts';

declare const holderOf: typeof scenes.holderOf;
declare const pageState: PageState;
declare const shareOfScenes: typeof scenes.shareOfScenes;
declare const visibleShare: typeof scenes.visibleShare;

let page: ScriptPage;
beforeAll(async () => {
  page = await sharedScriptPage();
});

const boxes = (...ids: string[]) => ids.map((id) => `<div class="s" id="${id}"></div>`).join('');
const boxStyle = (height: number) => `.s { position: fixed; left: 0; top: 20px; width: 640px; height: ${height}px }`;
/** Shows the boxes sequentially, each over a range of 1000 px. */
const showInTurn = `for (const [index, e] of [...document.querySelectorAll('.s')].entries())
  e.style.opacity = Math.floor(y / 1000) === index ? '1' : '0'`;

describe('holdScrollEffects', () => {
  test('does not treat fixed boxes as scenes if they also change while nothing scrolls', async () => {
    const { held, scenes } = await hold(
      boxes('first', 'second'),
      // Every eighth frame at a position differs.
      `const isFirst = (since / 20 % 8 === 7) !== (y < 500); first.style.opacity = isFirst ? 1 : 0; second.style.opacity = isFirst ? 0 : 1`,
      { style: boxStyle(400) },
    );
    expect([held, scenes]).toEqual([0, []]);
  });

  test('stores boxes that are fixed to the viewport, and appear and disappear, as scenes', async () => {
    const { held, scenes, frames, sheets } = await hold(boxes('a', 'b', 'c'), showInTurn, { style: boxStyle(120) });
    expect({ held, sheets }).toEqual({ held: 0, sheets: 0 });
    expect(scenes).toEqual([
      ['a', -0.25],
      ['b', 0.25],
      ['c', 0.25],
    ]);
    // For 300 ms, nothing may change without scrolling.
    const positions = 18;
    const changes = 3;
    expect(frames).toBe(2 + 3 + 15 + positions * 3 - changes);
    expect((await hold(boxes('a', 'b', 'c'), showInTurn, { style: boxStyle(40) })).scenes).toEqual([]);
  });

  test.each([
    ['a quarter of the viewport', { b: 0.25 }, ['a', 'b']],
    ['less', { b: 0.249 }, []],
    ['a quarter together', { b: 0.125, c: 0.125 }, ['a', 'b', 'c']],
    ['a quarter, besides what is there at the top', { a: 0.5 }, ['a']],
    ['less besides what is there at the top', { a: 0.49 }, []],
    ['a quarter with very small ones', { b: 0.24, c: 0.019 }, []],
    ['a quarter with small ones', { b: 0.24, c: 0.02 }, ['a', 'b', 'c']],
  ])('stores scenes if the boxes that appear cover %s', async (_, fixed, ids) => {
    const { scenes } = await hold(boxes('a', 'b', 'c'), showInTurn, {
      style: boxStyle(120),
      fixed: { a: 0, b: 0, c: 0, ...fixed },
    });
    expect(scenes.map(([id]) => id)).toEqual(ids);
  });

  test('stores a box that disappears for a while, and leaves one that always shows', async () => {
    const { scenes } = await hold(
      boxes('goes', 'comes', 'stays'),
      `const isAway = y > 500 && y < 2000; goes.style.opacity = isAway ? 0 : 1; comes.style.opacity = isAway ? 1 : 0; stays.style.opacity = 1`,
      { style: boxStyle(120), fixed: { goes: 0.25, comes: 0.25, stays: 0.25 } },
    );
    expect(scenes).toEqual([
      ['goes', -0.25],
      ['comes', 0.25],
    ]);
  });

  test('counts a box in another one only once', async () => {
    const nested = '<div class="s" id="a"></div><div class="s" id="outer"><div class="s" id="inner"></div></div>';
    const apart = '<div class="s" id="a"></div><div class="s" id="outer"></div><div class="s" id="inner"></div>';
    const options = { style: boxStyle(120), fixed: { a: 0, outer: 0.2, inner: 0.2 } };
    expect((await hold(nested, showInTurn, options)).scenes).toEqual([]);
    expect((await hold(apart, showInTurn, options)).scenes).toHaveLength(3);
  });

  test('stores 300 scenes', async () => {
    const ids = Array.from({ length: 301 }, (_, at) => `b${at}`);
    const { scenes } = await hold(
      boxes(...ids),
      `for (const e of box.querySelectorAll('.s')) e.style.opacity = y > 400 ? 1 : 0`,
      {
        style: boxStyle(120),
        height: 1280,
        fixed: Object.fromEntries(ids.map((id) => [id, 0.25])),
      },
    );
    expect(scenes).toHaveLength(300);
  });
});

test('holderOf returns the outermost fixed or sticky box of an element below the scroller', async () => {
  await page.show(
    `<style>main, .fixed { position: fixed } .sticky { position: sticky }</style>
     <main id="scroller"><div id="outer" class="fixed"><div id="sticky" class="sticky"><div id="inner" class="fixed"><p id="text">text</p></div></div></div>
     <p id="free">text</p></main>`,
  );
  const holders = await page.read(() => {
    const at = (id: string) => document.querySelector(`#${id}`) as Element;
    return [
      holderOf(at('text'), 'fixed', at('scroller'))?.id,
      holderOf(at('text'), 'sticky', at('scroller'))?.id,
      holderOf(at('inner'), 'fixed', at('outer'))?.id,
      holderOf(at('free'), 'fixed', at('scroller'))?.id ?? 'none',
      holderOf(document.createElement('p'), 'fixed', at('scroller'))?.id ?? 'none',
    ];
  }, [scenes.holderOf]);
  expect(holders).toEqual(['outer', 'sticky', 'inner', 'none', 'none']);
});

test.each([
  ['left:0;top:0;width:640px;height:480px', 1],
  ['left:320px;top:240px;width:640px;height:480px', 0.25],
  ['left:-320px;top:-240px;width:640px;height:480px', 0.25],
  ['left:-64px;top:-48px;width:768px;height:576px', 1],
  ['left:64px;top:48px;width:64px;height:48px', 0.01],
  ['left:640px;top:480px;width:640px;height:480px', 0],
  ['left:-700px;top:-500px;width:640px;height:480px', 0],
  ['left:0;top:0;width:640px;height:480px;opacity:0', 0],
  ['left:0;top:0;width:640px;height:480px;visibility:hidden', 0],
])('visibleShare measures the visible part of an element with the style "%s"', async (style, share) => {
  await page.show(`<p style="position:fixed;margin:0;${style}"></p>`);
  const measured = await page.read(() => visibleShare(document.querySelector('p') as Element), [scenes.visibleShare]);
  expect(measured).toBe(share);
});

test('shareOfScenes adds what the innermost scenes cover more than at the top', async () => {
  await page.show('<div id="outer"><p id="inner"></p></div><p id="other"></p><p id="leaves"></p>');
  const shares = await page.read(() => {
    const scene = (id: string, share: number): Scene => ({
      element: document.querySelector(`#${id}`) as HTMLElement,
      share,
    });
    const none = shareOfScenes();
    pageState.webcaptureScenes = [scene('outer', 4), scene('inner', 1), scene('other', 0.5), scene('leaves', -2)];
    return [none, shareOfScenes()];
  }, [scenes.shareOfScenes]);
  expect(shares).toEqual([0, 1.5]);
});
