// @module-tag long
// @module-tag page-script
/// <reference lib="dom" />
import { beforeAll, describe, expect, test } from 'vitest';
import type * as effects from '../../../services/renderer/page/scripts/effects.ts';
import type { PageState } from '../../../services/renderer/page/scripts/state.ts';
import type * as clock from '../../harness/page-clock.ts';
import { type ScriptPage, sharedScriptPage } from '../../harness/script-page.ts';
import { effectsTestHelpers as helpers, holdEffectsOf as hold } from '../../harness/scroll-effects.ts';

declare const holdScrollEffects: typeof effects.holdScrollEffects;
declare const pageState: PageState;
declare const useClock: typeof clock.useClock;
declare const watchScrollEffects: typeof effects.watchScrollEffects;

let page: ScriptPage;
beforeAll(async () => {
  page = await sharedScriptPage();
});

const still = 'transition: none !important;';

describe('holdScrollEffects', () => {
  test('keeps the style at the middle of the viewport, and for elements of the first view the style at the top of the page', async () => {
    const { held, rules, top } = await hold(
      `<i class="e" id="first" style="top:431px"></i><i class="e" id="next" style="top:432px"></i>
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

  test('keeps the style at the first of two positions that are equally good', async () => {
    const { rules } = await hold(
      `<i class="e" id="x" style="top:1590px"></i><i class="e" id="gone" style="top:-20px"></i>`,
      `for (const e of document.querySelectorAll('i')) e.style.transform = 'translateX(' + y + 'px)'`,
    );
    expect(rules).toEqual({
      x: `transform: translateX(1280px) !important; ${still}`,
      // This element is never in view. Position 0 is nearest to it.
      gone: `transform: translateX(0px) !important; ${still}`,
    });
  });

  test('visits the page in steps of a third of the viewport, and returns to its top', async () => {
    const move = `x.style.transform = 'translateX(' + y + 'px)'`;
    const seen = await hold('<i class="e" id="x" style="top:600px"></i>', move, { height: 1280 });
    expect(seen.tops).toEqual([0, 160, 320, 480, 640, 800, 0]);
    // Two frames, then 3 at the top, 2 without scrolling, 3 at the top, and 2 at each position.
    expect(seen.frames).toBe(2 + 3 + 2 + 3 + 6 * 2);
    const none = await hold('<i class="e" id="x" style="top:600px"></i>', move, { height: 1280, budgetMs: 0 });
    expect(none.tops).toEqual([0]);
    expect(none.rules).toEqual({ x: `transform: translateX(0px) !important; ${still}` });
    const short = await hold('<i class="e" id="x" style="top:600px"></i>', move, { height: 1280, budgetMs: 60 });
    expect(short.tops).toEqual([0]);
  });

  test('scrolls the box with the content of the page', async () => {
    const { tops, rules } = await hold(
      `<section id="box" style="height:480px;overflow:auto;position:relative"><i class="e" id="x" style="top:600px"></i><div style="height:1280px"></div></section>`,
      `x.style.transform = 'translateX(' + y + 'px)'`,
      { scroller: '#box' },
    );
    expect(tops).toEqual([0, 160, 320, 480, 640, 800, 0]);
    expect(rules).toEqual({ x: `transform: translateX(320px) !important; ${still}` });
  });

  test('skips positions at which all elements are far from the viewport', async () => {
    const move = `for (const e of document.querySelectorAll('i')) e.style.transform = 'translateX(' + y + 'px)'`;
    const skipping = async (body: string) => (await hold(body, move, { height: 6480 })).tops;
    // The viewport has 480 px, and an element within another 720 px is near.
    const { tops, rules } = await hold('<i class="e" id="x" style="top:3000px"></i>', move, { height: 6480 });
    expect(tops).toEqual([0, ...Array.from({ length: 12 }, (_, index) => 1920 + 160 * index), 6000, 0]);
    expect(rules).toEqual({ x: `transform: translateX(2720px) !important; ${still}` });
    expect(await skipping('<i class="e" style="top:100px"></i>')).toEqual([0, 6000, 0]);
    expect(await skipping('<i class="e" style="top:100px"></i><i class="e" style="top:3000px"></i>')).toEqual(tops);
    const sticky =
      '<section style="height:6000px"><div style="position:sticky;top:0"><i class="e"></i></div></section>';
    expect(await skipping(`<div style="height:480px"></div>${sticky}`)).toHaveLength(40);
  });

  test('waits for a third frame if the effects do not follow in the first one', async () => {
    const { rules, frames } = await hold(
      '<i class="e" id="x" style="top:600px"></i>',
      `x.style.transform = 'translateX(' + (since > 0 ? y : x.style.transform.match(/-?[0-9]+/) ?? 0) + 'px)'`,
      { height: 1280, stations: { x: 2 } },
    );
    expect(rules).toEqual({ x: `transform: translateX(320px) !important; ${still}` });
    expect(frames).toBe(2 + 3 + 2 + 7 * 3);
  });

  test('visits positions that are further apart if each of them takes long', async () => {
    const move = `x.style.transform = 'translateX(' + (y + Math.min(since, 100)) + 'px)'`;
    const all = await hold('<i class="e" id="x" style="top:1000px;height:800px"></i>', move);
    expect(all.tops).toHaveLength(18);
    const some = await hold('<i class="e" id="x" style="top:1000px;height:800px"></i>', move, { budgetMs: 1000 });
    // All positions would take more than two seconds.
    expect(some.tops.length).toBeLessThan(12);
    expect([some.tops.at(-2), some.rules]).toEqual([
      2520,
      { x: expect.stringMatching(/^transform: translateX/) as unknown },
    ]);
  });

  test('excludes elements that moved without end before, and still move', async () => {
    const body = '<i class="e" id="x" style="top:1500px"></i><i class="e" id="rests" style="top:1500px"></i>';
    const { rules, frames } = await hold(
      body,
      `x.style.transform = 'translateX(' + now + 'px)'; rests.style.transform = 'translateX(' + y + 'px)'`,
      { endless: 'i' },
    );
    expect(Object.keys(rules)).toEqual(['rests']);
    // At the top, the time limit of an animation alone is 75 frames.
    expect(frames).toBeLessThan(75);
  });

  test('waits for effects that lag behind the scroll position', async () => {
    const { rules, frames } = await hold(
      '<i class="e" id="x" style="top:600px"></i>',
      `x.style.transform = 'translateX(' + (y + Math.min(since, 100)) + 'px)'`,
      { height: 1280 },
    );
    expect(rules).toEqual({ x: `transform: translateX(420px) !important; ${still}` });
    // At the top, the first two frames are within the lag.
    expect(frames).toBe(2 + 5 + 2 + 3 + 6 * 7);
  });

  test.each([
    // At the second position: 300 ms for the lag, and 1500 ms for an animation. At the next 9: 300 ms. Then all time is used up.
    ['an endless animation', 'since', 7 + 3 + (2 + 15 + 75) + 9 * (2 + 15) + 6 * 2 + 2],
    // At 8 positions: 300 ms for the lag, and 700 ms for the animation. 400 ms are left for the next one.
    [
      'animations of a second',
      'Math.min(since, 1000)',
      7 + 3 + 8 * (2 + 15 + 35) + (2 + 15 + 20) + (2 + 15) + 6 * 2 + 2,
    ],
  ])('limits the time for %s', async (_, value, count) => {
    const { frames, tops } = await hold(
      '<i class="e" id="x" style="top:1000px;height:800px"></i>',
      `x.style.transform = 'translateX(' + (y === 0 ? 0 : y + ${value}) + 'px)'`,
    );
    expect(tops).toHaveLength(18);
    expect(frames).toBe(count);
  });

  test('excludes elements that never stop moving at the top of the page', async () => {
    const { held, frames, sheets } = await hold(
      '<i class="e" id="x" style="top:1500px"></i>',
      `x.style.transform = 'translateX(' + now + 'px)'`,
    );
    expect({ held, frames, sheets }).toEqual({ held: 0, frames: 2 + (2 + 15 + 75) + 2, sheets: 0 });
  });

  test.each([
    ['one change on a way of many viewports', 3000, { x: 1 }, []],
    ['two changes', 3000, { x: 2 }, ['x']],
    ['one change on a way of a viewport', 960, { x: 1 }, ['x']],
    ['one change on a way of two viewports', 1440, { x: 1 }, []],
    ['two changes of another element', 3000, { x: 1, other: 2 }, ['x', 'other']],
  ])('treats an element as an effect after %s', async (_, height, stations, ids) => {
    const { rules, frames } = await hold(
      '<i class="e" id="x" style="top:600px"></i><i class="e" id="other" style="top:600px"></i>',
      `for (const e of document.querySelectorAll('i')) e.style.transform = 'translateX(' + y + 'px)'`,
      { height, stations },
    );
    expect(Object.keys(rules)).toEqual(ids);
    if (ids.length === 0) expect(frames).toBe(2);
  });

  test('leaves removed elements, and pages that do not scroll', async () => {
    const body = '<i class="e" id="x" style="top:600px"></i><i class="e" id="other" style="top:600px"></i>';
    const move = `for (const e of document.querySelectorAll('i')) e.style.transform = 'translateX(' + y + 'px)'`;
    const { held, rules } = await hold(body, move, { removed: '#other' });
    expect([held, Object.keys(rules)]).toEqual([1, ['x']]);
    expect(await hold(body, move, { height: 480, stations: { x: 2 } })).toMatchObject({
      held: 0,
      frames: 2,
      sheets: 0,
    });
  });

  test('freezes pictures in windows if scripts restyle fixed elements', async () => {
    const body = `<div class="e" style="top:1000px;clip-path:inset(0)"><b id="picture"></b></div><i class="e" id="x" style="top:600px"></i>`;
    const move = `for (const e of document.querySelectorAll('b, i')) e.style.transform = 'translateX(' + y + 'px)'`;
    const style = '#picture { position: fixed; width: 9px; height: 9px }';
    const position = () => page.read(() => getComputedStyle(document.querySelector('#picture') as Element).position);
    const { held } = await hold(body, move, { style });
    expect([held, await position()]).toEqual([1, 'absolute']);
    await hold(body, move, { style, fixed: {} });
    expect(await position()).toBe('fixed');
  });

  test('keeps only styles that neither change the layout nor hide the element', async () => {
    const { rules } = await hold(
      '<i class="e" id="x" style="top:1500px"></i><i class="e" id="gone" style="top:1600px"></i><i class="e" id="seen" style="top:1700px"></i>',
      `x.style.cssText = 'top:1500px;width:' + y + 'px;--y-long:' + y + ';--z:hidden;--o:0;opacity:0.5;visibility:visible;color:red;background-color:blue;transform-origin:0 0;border-top-color:red';
       gone.style.cssText = 'top:1600px;opacity:0;visibility:hidden;width:' + y + 'px';
       seen.style.cssText = 'top:1700px;opacity:' + y / 10000 + ';stroke-width:1px;filter:blur(1px);display:block'`,
    );
    expect(Object.keys(rules).toSorted()).toEqual(['seen', 'x']);
    for (const part of [
      '--y-long: 1280',
      '--z: hidden',
      '--o: 0',
      'opacity: 0.5',
      'visibility: visible',
      'color: red',
      'background-color: blue',
    ])
      expect(rules['x']).toContain(`${part} !important`);
    expect(rules['x']).not.toMatch(/width|top|origin/);
    for (const part of ['opacity: 0.144', 'stroke-width: 1px', 'filter: blur(1px)'])
      expect(rules['seen']).toContain(`${part} !important`);
    expect(rules['seen']).not.toMatch(/display|top/);
  });

  test('leaves elements alone that are restyled once, or move by themselves', async () => {
    const once = await hold(
      '<i class="e" id="x" style="top:1500px"></i>',
      `if (y > 1000 && !x.style.transform) x.style.transform = 'translateX(9px)'`,
    );
    expect(once).toMatchObject({ held: 0, rules: {}, top: 0, sheets: 0 });
    const { rules } = await hold(
      '<i class="e" id="x" style="top:1500px"></i><i class="e" id="clock" style="top:1500px"></i>',
      `x.style.transform = 'translateX(' + y + 'px)'; clock.style.transform = 'translateX(' + now + 'px)'`,
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
      { height: 20_000 },
    );
    // The positions are 488 px apart, a fortieth of the way.
    expect(rules).toEqual({ x: `transform: translateX(${21 * 488}px) !important; ${still}` });
  });

  test('visits at most 8 positions again to check that their styles are the same', async () => {
    const tops = Array.from({ length: 10 }, (_, index) => 600 + 200 * index);
    const { rules } = await hold(
      tops.map((top) => `<i class="e" id="at${top}" style="top:${top}px"></i>`).join(''),
      // Each time that the page is at its top, the style is another one.
      `if (y === 0 && since === 0) globalThis.tops = (globalThis.tops ?? 0) + 1;
       for (const e of document.querySelectorAll('i')) e.style.transform = 'translateX(' + (y || tops) + 'px)'`,
    );
    expect(Object.keys(rules).toSorted()).toEqual(
      tops
        .slice(0, 8)
        .map((top) => `at${top}`)
        .toSorted(),
    );
  });

  test('measures an element in a sticky box by the parent in which the box moves', async () => {
    const { rules } = await hold(
      '<div id="way"><div id="box"><i id="x">x</i></div></div>',
      `x.style.transform = 'translateX(' + y + 'px)'`,
      {
        style:
          '#way { position: absolute; top: 1000px; height: 1000px; width: 100px } #box { position: sticky; top: 0; height: 100px } #x { display: block; height: 20px }',
      },
    );
    // The middle of the way is at 1500 px.
    expect(rules).toEqual({ x: `transform: translateX(1280px) !important; ${still}` });
  });

  test('keeps the transform at the top for an element that a script pins', async () => {
    const { rules } = await hold(
      '<div id="place"><i id="x">x</i></div>',
      `x.style.cssText = y > 900 && y < 1500 ? 'position:fixed;top:50px' : y >= 1500 ? 'transform:translateY(600px)' : 'transform:translateY(' + y / 1e6 + 'px)'`,
      {
        style:
          '#place { position: absolute; top: 950px; height: 100px; width: 100px } #x { display: block; height: 20px }',
      },
    );
    expect(rules['x']).toMatch(/^transform: matrix\(1, 0, 0, 1, 0, 0\) !important; transition: none !important;$/);
  });

  test('keeps an element that a script pins without a transform if it has no style at the top', async () => {
    const { rules } = await hold(
      '<div id="place"><i id="x">x</i></div>',
      `x.className = y > 900 && y < 1500 ? 'pinned' : ''; x.style.cssText = y >= 1500 ? 'transform:translateY(' + y + 'px)' : ''`,
      {
        style:
          '#place { position: absolute; top: 950px; height: 100px; width: 100px } #x { display: block; height: 20px } .pinned { position: fixed; top: 50px }',
      },
    );
    expect(rules['x']).toBe(`transform: none !important; ${still}`);
  });

  test('measures an element in a box that a script pins by the place of the box', async () => {
    const { rules } = await hold(
      '<div id="place"><div id="pin"><i id="x">x</i></div></div>',
      `pin.style.position = y > 700 && y < 1700 ? 'fixed' : ''; x.style.transform = 'translateX(' + y + 'px)'`,
      {
        style:
          '#place { position: absolute; top: 1000px; height: 1000px; width: 100px } #pin { top: 50px } #x { display: block; height: 20px }',
      },
    );
    // The middle of the place is at 1500 px.
    expect(rules['x']).toBe(`transform: translateX(1280px) !important; ${still}`);
  });

  test('keeps the style at the top for an element of the first view that a script pins later', async () => {
    const { rules } = await hold(
      '<div id="pin"><i id="x">x</i></div>',
      `pin.style.position = y > 100 ? 'fixed' : ''; x.style.transform = 'translateX(' + (y + 1) + 'px)'`,
      { style: '#x { display: block; height: 20px }' },
    );
    expect(rules['x']).toBe(`transform: translateX(1px) !important; ${still}`);
  });

  test('treats an element as pinned if it was already in the middle of the viewport before', async () => {
    const { rules } = await hold(
      '<i class="e" id="pin" style="top:1190px"><i id="x">x</i></i>',
      `pin.style.position = y > 1200 ? 'fixed' : ''; x.style.transform = 'translateX(' + y + 'px)'`,
      { style: '#x { display: block; height: 20px }' },
    );
    // The middle of the page, in which the pinned box lies, is at 1500 px.
    expect(rules['x']).toBe(`transform: translateX(1280px) !important; ${still}`);
  });

  test('removes its changes from the records of motions', async () => {
    const move = `x.style.transform = 'translateX(' + y + 'px)'`;
    const { hasForgotten } = await hold('<i class="e" id="x" style="top:600px"></i>', move, { recordsMotion: true });
    expect(hasForgotten).toBe(true);
  });
});

test('watchScrollEffects records elements whose style attribute changes', async () => {
  await page.show('<p id="styled"></p><p id="named"></p>');
  const recorded = await page.read(async () => {
    watchScrollEffects();
    for (const each of document.querySelectorAll('p')) each.title = 'new';
    document.querySelector('p')?.setAttribute('style', 'color: red');
    await Promise.resolve();
    const { restyled, stations, fixed } = pageState.webcaptureEffects ?? {};
    return [[...(restyled ?? [])].map(({ id }) => id), stations?.size, fixed?.size];
  }, helpers);
  expect(recorded).toEqual([['styled'], 0, 0]);
});

test('holdScrollEffects does nothing for a page that was not watched, and stops to watch it', async () => {
  await page.show('<div style="height:3000px"></div>');
  const seen = await page.read(async () => {
    const passed = useClock();
    const held = [await holdScrollEffects(60_000)];
    let stops = 0;
    const observer = { disconnect: () => (stops += 1) } as unknown as MutationObserver;
    pageState.webcaptureEffects = { observer, restyled: new Set(), stations: new Map(), fixed: new Map() };
    held.push(await holdScrollEffects(60_000));
    return { held, stops, isForgotten: !('webcaptureEffects' in pageState), ms: passed() };
  }, helpers);
  expect(seen).toEqual({ held: [0, 0], stops: 1, isForgotten: true, ms: 0 });
});
