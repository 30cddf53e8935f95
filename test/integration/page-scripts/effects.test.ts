// @module-tag long
// @module-tag page-script
/// <reference lib="dom" />
import { beforeAll, describe, expect, test } from 'vitest';
import {
  effectsHelpers,
  holdScrollEffects,
  watchScrollEffects,
} from '../../../services/renderer/page/scripts/effects.ts';
import { holderOf, visibleShare } from '../../../services/renderer/page/scripts/scenes.ts';
import { scrollThrough, scrollToTop } from '../../../services/renderer/page/scripts/scrolling.ts';
import type { PageState } from '../../../services/renderer/page/scripts/state.ts';
import { holdInWindows } from '../../../services/renderer/page/scripts/windows.ts';
import { type ScriptPage, sharedScriptPage } from '../../harness/script-page.ts';

declare const pageState: PageState;

let page: ScriptPage;
beforeAll(async () => {
  page = await sharedScriptPage();
});

/** Scrolls through a page of 3000 px, or another height, as a capture does, and holds its effects. Returns their number and rules, by id. */
async function hold(body: string, onScroll: string, style = '', height = 3000) {
  await page.show(
    `<main style="position:relative;height:${height}px;overflow:clip">${body}</main>
     <style>.e { position: absolute; left: 0; width: 20px; height: 20px } ${style}</style>
     <script>const apply = () => { const y = scrollY; ${onScroll} }; document.addEventListener('scroll', apply); apply()</script>`,
  );
  await page.call(watchScrollEffects, []);
  await page.call(scrollThrough, [60_000, 100_000, 12], [holderOf, visibleShare]);
  await page.call(scrollToTop, []);
  const helpers = [holderOf, visibleShare, holdInWindows, ...effectsHelpers];
  const held = await page.call(holdScrollEffects, [60_000], helpers);
  const rules = await page.read(() =>
    Object.fromEntries(
      document.adoptedStyleSheets
        .flatMap((sheet) => [...sheet.cssRules])
        .map((rule) => {
          const { selectorText, style } = rule as CSSStyleRule;
          return [document.querySelector(selectorText)?.id ?? '', style.cssText];
        }),
    ),
  );
  return { held, rules, top: await page.read(() => scrollY) };
}

const still = 'transition: none !important;';

describe('holdScrollEffects', () => {
  test('keeps the style in the middle of the viewport, and in the first view that at the top', async () => {
    const { held, rules, top } = await hold(
      `<i class="e" id="first" style="top:431px"></i><i class="e" id="next" style="top:433px"></i>
       <i class="e" id="middle" style="top:1500px"></i><i class="e" id="last" style="top:2980px"></i><b class="e" id="above" style="top:-100px"></b>`,
      `for (const e of document.querySelectorAll('i')) e.style.transform = 'translateX(' + y + 'px)';
       above.style.transform = 'translateY(' + 2 * y + 'px)'`,
    );
    expect(rules).toEqual({
      first: `transform: translateX(0px) !important; ${still}`,
      next: `transform: translateX(160px) !important; ${still}`,
      middle: `transform: translateX(1280px) !important; ${still}`,
      last: `transform: translateX(2520px) !important; ${still}`,
      above: `transform: translateY(640px) !important; ${still}`,
    });
    expect([held, top]).toEqual([5, 0]);
  });

  test('keeps only what changes neither the layout nor hides the element', async () => {
    const { rules } = await hold(
      '<i class="e" id="x" style="top:1500px"></i><i class="e" id="gone" style="top:1600px"></i><i class="e" id="seen" style="top:1700px"></i>',
      `x.style.cssText = 'top:1500px;width:' + y + 'px;--y:' + y + ';--z:hidden;opacity:0.5;visibility:visible;color:red;background-color:blue';
       gone.style.cssText = 'top:1600px;opacity:0;visibility:hidden;width:' + y + 'px';
       seen.style.cssText = 'top:1700px;opacity:' + y / 10000 + ';stroke-width:1px;filter:blur(1px);display:block'`,
    );
    expect(Object.keys(rules).toSorted()).toEqual(['seen', 'x']);
    for (const part of [
      '--y: 1280',
      '--z: hidden',
      'opacity: 0.5',
      'visibility: visible',
      'color: red',
      'background-color: blue',
    ])
      expect(rules['x']).toContain(`${part} !important`);
    expect(rules['x']).not.toMatch(/width|top/);
    for (const part of ['opacity: 0.144', 'stroke-width: 1px', 'filter: blur(1px)'])
      expect(rules['seen']).toContain(`${part} !important`);
    expect(rules['seen']).not.toMatch(/display|top/);
  });

  test('leaves elements alone that are restyled once, or move by themselves', async () => {
    const once = await hold(
      '<i class="e" id="x" style="top:1500px"></i>',
      `if (y > 1000 && !x.style.transform) x.style.transform = 'translateX(9px)'`,
    );
    expect(once).toEqual({ held: 0, rules: {}, top: 0 });
    const { rules } = await hold(
      '<i class="e" id="x" style="top:1500px"></i><i class="e" id="clock" style="top:1500px"></i>',
      `x.style.transform = 'translateX(' + y + 'px)'; clock.style.transform = 'translateX(' + performance.now() + 'px)'`,
    );
    expect(Object.keys(rules)).toEqual(['x']);
  });

  test('holds 300 elements', async () => {
    const { held, rules } = await hold(
      `${'<i class="e" style="top:1500px"></i>'.repeat(299)}<b class="e" id="last" style="top:1500px"></b><b class="e" id="more" style="top:1500px"></b>`,
      `for (const e of document.querySelectorAll('.e')) e.style.transform = 'translateX(' + y + 'px)'`,
    );
    expect([held, 'last' in rules, 'more' in rules]).toEqual([300, true, false]);
  });

  test('looks at 41 positions of a tall page', async () => {
    const { rules } = await hold(
      '<i class="e" id="x" style="top:10300px"></i>',
      `x.style.transform = 'translateX(' + y + 'px)'`,
      '',
      20_000,
    );
    // The positions are 488 px apart, a fortieth of the way.
    expect(rules).toEqual({ x: `transform: translateX(${21 * 488}px) !important; ${still}` });
  });

  test('looks again at 8 positions whose styles may not come back', async () => {
    const tops = Array.from({ length: 10 }, (_, index) => 600 + 200 * index);
    const { rules } = await hold(
      tops.map((top) => `<i class="e" id="at${top}" style="top:${top}px"></i>`).join(''),
      // Each time that the page is at its top, the style is another one.
      `if (y === 0) globalThis.tops = (globalThis.tops ?? 0) + 1;
       for (const e of document.querySelectorAll('i')) e.style.transform = 'translateX(' + (y || tops) + 'px)'`,
    );
    expect(Object.keys(rules).toSorted()).toEqual(
      tops
        .slice(0, 8)
        .map((top) => `at${top}`)
        .toSorted(),
    );
  });

  test('measures an element in a sticky box by the way of the box', async () => {
    const { rules } = await hold(
      '<div id="way"><div id="box"><i id="x">x</i></div></div>',
      `x.style.transform = 'translateX(' + y + 'px)'`,
      '#way { position: absolute; top: 1000px; height: 1000px; width: 100px } #box { position: sticky; top: 0; height: 100px } #x { display: block; height: 20px }',
    );
    // The middle of the way is at 1500 px.
    expect(rules).toEqual({ x: `transform: translateX(1280px) !important; ${still}` });
  });

  test('keeps the transform at the top for an element that a script pins', async () => {
    const { rules } = await hold(
      '<div id="place"><i id="x">x</i></div>',
      `x.style.cssText = y > 900 && y < 1500 ? 'position:fixed;top:50px' : y >= 1500 ? 'transform:translateY(600px)' : 'transform:translateY(' + y / 1e6 + 'px)'`,
      '#place { position: absolute; top: 950px; height: 100px; width: 100px } #x { display: block; height: 20px }',
    );
    expect(rules['x']).toMatch(/^transform: matrix\(1, 0, 0, 1, 0, 0\) !important; transition: none !important;$/);
  });

  test('does not take fixed boxes for scenes that also change while nothing scrolls', async () => {
    const { held } = await hold(
      '<b class="box" id="first"></b><b class="box" id="second"></b>',
      // Every eighth frame after a scroll differs.
      `let frames = 0;
       const show = (isFirst) => { first.style.opacity = isFirst ? 1 : 0; second.style.opacity = isFirst ? 0 : 1; };
       show(y < 500);
       const next = () => { frames += 1; if (scrollY !== y) return; show((frames % 8 === 0) !== (y < 500)); requestAnimationFrame(next); };
       requestAnimationFrame(next);`,
      '.box { position: fixed; inset: 0; background: red }',
    );
    expect([held, await page.read(() => pageState.webcaptureScenes ?? [])]).toEqual([0, []]);
  });

  test('stores boxes that are fixed to the viewport, and appear and disappear, as scenes', async () => {
    const scenes = (height: number) =>
      `for (const [index, e] of [...document.querySelectorAll('.s')].entries())
         e.style.opacity = Math.floor(y / 1000) === index ? '1' : '0'`.replace('HEIGHT', `${height}`);
    const style = (height: number) => `.s { position: fixed; left: 0; top: 20px; width: 640px; height: ${height}px }`;
    const read = () =>
      page.read(() =>
        pageState.webcaptureScenes?.map(({ element, share, top }) => [element.id, Math.round(share * 100), top]),
      );
    const boxes = '<div class="s" id="a"></div><div class="s" id="b"></div><div class="s" id="c"></div>';
    const { held } = await hold(boxes, scenes(120), style(120));
    expect(held).toBe(0);
    expect((await read())?.map(([id, share]) => [id, share])).toEqual([
      ['a', -25],
      ['b', 25],
      ['c', 25],
    ]);
    const tops = (await read())?.map(([, , top]) => Number(top));
    expect([(tops?.[0] ?? 0) >= 1000, tops?.[1] === 1140, tops?.[2] === 2100]).toEqual([true, true, true]);
    await hold(boxes, scenes(40), style(40));
    expect(await read()).toBeUndefined();
  });
});

test('holdScrollEffects does nothing for a page that was not watched or does not scroll', async () => {
  await page.show('<p>text</p>');
  const helpers = [holderOf, visibleShare, holdInWindows, ...effectsHelpers];
  expect(await page.call(holdScrollEffects, [60_000], helpers)).toBe(0);
  await page.call(watchScrollEffects, []);
  expect(await page.call(holdScrollEffects, [60_000], helpers)).toBe(0);
  expect(await page.read(() => [document.adoptedStyleSheets.length, pageState.webcaptureEffects ?? null])).toEqual([
    0,
    null,
  ]);
});
