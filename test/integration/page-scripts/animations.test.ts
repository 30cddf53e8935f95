// @module-tag long
// @module-tag page-script
/// <reference lib="dom" />
import { beforeAll, describe, expect, test } from 'vitest';
import * as animations from '../../../services/renderer/page/scripts/animations.ts';
import type { PageState } from '../../../services/renderer/page/scripts/state.ts';
import * as clock from '../../harness/page-clock.ts';
import { type ScriptPage, sharedScriptPage } from '../../harness/script-page.ts';
import { countStyleReads } from '../../harness/style-reads.ts';

declare const holdScrollAnimations: typeof animations.holdScrollAnimations;
declare const pageState: PageState;
declare const rewindAnimations: typeof animations.rewindAnimations;
declare const showPulsing: typeof animations.showPulsing;
declare const useClock: typeof clock.useClock;

let page: ScriptPage;
beforeAll(async () => {
  page = await sharedScriptPage();
});

/** Returns the opacities of the elements with an id, by id. */
const readOpacities = () =>
  Object.fromEntries(
    [...document.querySelectorAll('[id]')].map((each) => [each.id, Number(getComputedStyle(each).opacity)]),
  );

test('finishAnimations finishes what has an end and is running', async () => {
  await page.show(
    `<p id="ends">1</p><p id="endless">1</p><p id="paused">1</p><p id="stopped">1</p><p id="scrolled">1</p><p id="changes">1</p><p id="backwards">1</p>
     <style>@keyframes fade { from { opacity: 0 } to { opacity: 0.5 } } #ends, #paused { animation: fade 100s both }
       #endless, #backwards { animation: fade 100s infinite } #paused { animation-play-state: paused } body { height: 3000px }
       #scrolled { animation: fade both linear; animation-timeline: scroll() } #changes { transition: opacity 100s; opacity: 0 }</style>
     <script>
       stopped.animate([{ opacity: 0 }, { opacity: 0.5 }], { duration: 1e5, fill: 'both' }).playbackRate = 0;
     </script>`,
  );
  await page.page.evaluate(() => {
    const [backwards] = document.querySelector('#backwards')?.getAnimations() ?? [];
    Object.assign(backwards ?? {}, { playbackRate: -1, currentTime: 160_000 });
    const changing = document.querySelector('#changes') as HTMLElement;
    const before = getComputedStyle(changing).opacity;
    changing.style.opacity = `${1 - Number(before)}`;
  });
  expect(await page.call(animations.finishAnimations, [])).toBe(2);
  const { ends, endless, backwards, paused, stopped, scrolled, changes } = await page.read(readOpacities);
  expect({ ends, paused, stopped, scrolled, changes }).toEqual({
    ends: 0.5,
    paused: 0,
    stopped: 0,
    scrolled: 0,
    changes: 1,
  });
  expect(endless).toBeLessThan(0.1);
  expect(backwards).toBeGreaterThan(0.1);
  expect(await page.call(animations.finishAnimations, [])).toBe(0);
});

describe('showPulsing', () => {
  const states = () =>
    document
      .getAnimations()
      .map((animation) => [
        ((animation.effect as KeyframeEffect).target as Element).id,
        animation.playState,
        Math.round(Number(getComputedStyle((animation.effect as KeyframeEffect).target as Element).opacity) * 10) / 10,
      ]);
  /** Returns the times of the animations, in milliseconds. */
  const times = () => document.getAnimations().map(({ currentTime }) => Math.round(Number(currentTime)));
  const pulse = '@keyframes pulse { from { opacity: 0 } 50% { opacity: 0.2 } to { opacity: 0.8 } }';

  test('seeks a text or picture to the first time of its maximum, and pauses it', async () => {
    await page.show(
      `<p id="text">text</p><p id="space"> </p><div><img id="img"></div><div id="has"><svg></svg></div>
       <div><svg><g id="part"></g></svg></div><div><p id="seen">text</p></div><div><p id="still">text</p></div>
       <div><p id="paused">text</p></div><div><p id="pseudo">text</p></div>
       <style>${pulse} #text, #space, #img, #has, #part { animation: pulse 1000s linear infinite }
         #seen { animation: pulse 1000s linear -900s infinite } #still { animation: still 1000s infinite; opacity: 0.1 }
         @keyframes still { from, to { opacity: 0.2 } } #paused { animation: pulse 1000s infinite paused }
         #pseudo::before { content: 'x'; animation: pulse 1000s infinite }</style>`,
    );
    await page.call(animations.showPulsing, []);
    const seen = Object.fromEntries((await page.read(states)).map(([id, ...state]) => [id, state]));
    expect((await page.read(times))[0]).toBe(999_999);
    expect(seen).toEqual({
      ...Object.fromEntries(['text', 'img', 'has', 'part'].map((id) => [id, ['paused', 0.8]])),
      space: ['running', 0],
      seen: ['running', 0.7],
      still: ['running', 0.2],
      paused: ['paused', 0],
      pseudo: ['running', 1],
    });
  });

  test('moves siblings together, in the current iteration', async () => {
    await page.show(
      `<p id="one">text</p><p id="two">text</p><p id="other">text</p>
       <style>@keyframes word { from, 40% { opacity: 0 } 50%, 60% { opacity: 0.9 } 70%, to { opacity: 0 } }
         ${pulse} p { animation: word 100s linear -210s infinite } #two { animation-delay: -155s } #other { animation: pulse 100s linear infinite }</style>`,
    );
    await page.call(animations.showPulsing, []);
    // The most visible element of the row is already at its maximum.
    const both = Object.fromEntries((await page.read(states)).map(([id, ...state]) => [id, state]));
    expect(both).toEqual({ one: ['running', 0], two: ['running', 0.9], other: ['paused', 0.8] });
    await page.show(
      `<p id="one">text</p><p id="two">text</p>
       <style>@keyframes word { from, 40% { opacity: 0 } 50%, 60% { opacity: 0.9 } 70%, to { opacity: 0 } }
         p { animation: word 100s linear -220s infinite } #two { animation-delay: -242s }</style>`,
    );
    await page.call(animations.showPulsing, []);
    expect(Object.fromEntries((await page.read(states)).map(([id, ...state]) => [id, state]))).toEqual({
      one: ['paused', 0],
      two: ['paused', 0.9],
    });
    expect((await page.read(times)).map((ms) => Math.round(ms / 100))).toEqual([1130, 1130]);
  });

  test('moves equally visible siblings to the maximum of the first', async () => {
    await page.show(
      `<p id="one">text</p><p id="two">text</p>
       <style>@keyframes word { from, 40% { opacity: 0 } 50%, 60% { opacity: 0.9 } 70%, to { opacity: 0 } }
         p { animation: word 100s linear infinite } #two { animation-delay: -10s }</style>`,
    );
    await page.call(animations.showPulsing, []);
    expect((await page.read(readOpacities))['one']).toBe(0.9);
  });

  test('seeks an animation that has not begun to its first iteration', async () => {
    await page.show(
      `<p id="x">text</p><style>${pulse} p { opacity: 0.1; animation: pulse 100s linear 150s infinite }</style>`,
    );
    await page.call(animations.showPulsing, []);
    expect(await page.read(states)).toEqual([['x', 'paused', 0.8]]);
    expect(await page.read(times)).toEqual([249_999]);
  });

  test('leaves what is visible at half of its maximum', async () => {
    await page.show(
      `<p id="x">text</p><style>@keyframes step { from { opacity: 0.25 } 50%, to { opacity: 0.5 } }
         p { animation: step 1000s step-end infinite }</style>`,
    );
    await page.call(animations.showPulsing, []);
    expect(await page.read(states)).toEqual([['x', 'running', 0.3]]);
  });

  test('leaves animations of pseudo-elements and of the scroll position', async () => {
    await page.show(
      `<p id="x">text</p><p id="pseudo">text</p><p id="scrolled">text</p>
       <style>${pulse} #x { animation: pulse 1000s infinite } #pseudo::before { content: 'x'; animation: pulse 1000s infinite }
         #scrolled { animation: pulse linear both; animation-timeline: scroll() } body { height: 3000px }</style>`,
    );
    await page.call(animations.showPulsing, []);
    const seen = (await page.read(states)).map(([id, state]) => [id, state]);
    expect(Object.fromEntries(seen)).toEqual({ x: 'paused', pseudo: 'running', scrolled: 'running' });
  });

  test('seeks the animations of 30 rows', async () => {
    await page.show(
      `${Array.from({ length: 31 }, (_, at) => `<div><p id="p${at}">text</p></div>`).join('')}<style>${pulse} p { animation: pulse 1000s linear infinite }</style>`,
    );
    await page.call(animations.showPulsing, []);
    const seen = (await page.read(states)).slice(28);
    expect(seen).toEqual([
      ['p28', 'paused', 0.8],
      ['p29', 'paused', 0.8],
      ['p30', 'running', 0],
    ]);
  });

  test('reads the style of what is half visible only once', async () => {
    await page.show(
      `<p>text</p><style>@keyframes move { to { translate: 9px } } p { opacity: 0.5; animation: move 1s infinite }</style>`,
    );
    const reads = await page.read(() => {
      const styleReads = countStyleReads();
      showPulsing();
      return styleReads();
    }, [animations.showPulsing, countStyleReads]);
    expect(reads).toBe(1);
  });
});

test('rewindAnimations sets running animations to their start', async () => {
  await page.show(
    `<p id="early">1</p><p id="late">1</p><p id="paused">1</p><p id="scrolled">1</p>
     <style>@keyframes fade { to { opacity: 0 } } p { animation: fade 100s infinite } #early { animation-delay: -30s } #late { animation-delay: 40s }
       #paused { animation-play-state: paused; animation-delay: -30s } body { height: 3000px }
       #scrolled { animation: fade both linear; animation-timeline: scroll() }</style>`,
  );
  await page.page.evaluate(() => {
    for (const animation of document.getAnimations())
      if (animation.timeline instanceof DocumentTimeline) animation.currentTime = 60_000;
  });
  const [early = 0, late = 0, ...others] = await page.read(() => {
    rewindAnimations();
    return document.getAnimations().map(({ currentTime }) => Number.parseFloat(String(currentTime)));
  }, [animations.rewindAnimations]);
  expect([Math.floor(early / 10_000), Math.floor(late / 10_000), ...others]).toEqual([0, 4, 60_000, 0]);
});

test('pauseAnimations pauses what is running, and SVG animations after a minute', async () => {
  await page.show(
    `<p id="runs">1</p><p id="ended">1</p><p id="inactive">1</p><svg><rect><animate dur="9s"></animate></rect></svg>
     <style>@keyframes fade { to { opacity: 0 } } #runs { animation: fade 100s infinite } #ended { animation: fade 1ms forwards }
       #inactive { animation: fade linear; animation-timeline: scroll(self) }</style>`,
  );
  await page.page.evaluate(() => {
    const [runs, ended] = document.getAnimations();
    if (runs) runs.currentTime = 60_000;
    ended?.finish();
  });
  await page.call(animations.pauseAnimations, []);
  const seen = await page.read(() => [
    ...document.getAnimations().map(({ playState }) => playState),
    Math.floor(Number(document.getAnimations()[0]?.currentTime) / 10_000),
    document.querySelector('svg')?.animationsPaused(),
    document.querySelector('svg')?.getCurrentTime(),
  ]);
  expect(seen).toEqual(['paused', 'finished', 'running', 6, true, 60]);
});

test('holdScrollAnimations freezes scroll-driven animations by the place of their elements', async () => {
  await page.show(
    `<header id="bar"><i id="inBar"></i></header><i id="fixed"></i><i id="top"></i><i id="middle"></i><i id="low"></i><i id="view"></i>
     <i id="ranged"></i><i id="midRanged"></i><i id="short"></i><div id="box"><i id="inBox"></i><b></b></div><p id="time">text</p>
     <style>@keyframes fade { from { opacity: 0 } to { opacity: 1 } } i { animation: fade linear; animation-timeline: scroll(root); position: absolute; height: 20px; width: 20px }
       body { height: 2480px } #bar { position: sticky; top: 0 } #fixed { position: fixed; top: 400px } #top { top: 0 } #middle { top: 1230px } #low { top: 2460px }
       #view { top: 1000px; animation-timeline: view() } #ranged { top: 0; animation-range: 50% 60% }
       #midRanged { top: 1230px; animation-range: 25% 75% } #short { top: 2460px; animation: half 9s 2 alternate; animation-timeline: scroll(root) } @keyframes half { from { opacity: 0.5 } 50% { opacity: 0.7 } to { opacity: 0.6 } }
       #box { position: absolute; top: 600px; height: 100px; overflow: auto; width: 100px } #box b { display: block; height: 500px } #inBox { animation-timeline: scroll(nearest) }
       #time { animation: fade 100s; margin: 0 }</style>`,
  );
  await page.call(animations.holdScrollAnimations, []);
  const { time = 1, ...held } = await page.read(readOpacities);
  expect(held).toEqual({
    bar: 1,
    box: 1,
    inBar: 0,
    fixed: 0,
    top: 0,
    middle: 0.5,
    low: 1,
    view: 0.5,
    ranged: 1,
    midRanged: 0.5,
    short: 0.5,
    inBox: 0,
  });
  expect(time).toBeLessThan(0.5);
  await page.read(() => scrollTo(0, 2000));
  expect(await page.read(readOpacities)).toMatchObject({ top: 0, middle: 0.5, low: 1, view: 0.5, fixed: 0 });
});

describe('holdScrollAnimations', () => {
  /** Holds animations in a page or box that is scrolled by 500 px. Returns the opacity of the element `#x`. */
  const opacityIn = async (body: string, scroller: string) => {
    await page.show(body);
    await page.call(
      (selector: string) => {
        const box = document.querySelector(selector) as Element;
        box.scrollTop = 500;
        if (box.localName === 'main') pageState.webcaptureScroller = { scrolled: box, panes: [] };
      },
      [scroller],
    );
    await page.call(animations.holdScrollAnimations, []);
    return (await page.read(readOpacities))['x'];
  };
  const rules = '<style>@keyframes fade { from { opacity: 0 } to { opacity: 1 } }';
  const text = '<p id="x" style="position:absolute;top:1230px;height:20px;margin:0">text</p>';

  test('measures places from the top of the page, or of the box with its content', async () => {
    const tall = '<div style="height:2480px"></div>';
    const style = `${rules} p { animation: fade linear; animation-timeline: scroll() }</style>`;
    expect(await opacityIn(text + tall + style, 'html')).toBe(0.5);
    const box = `<main style="position:relative;height:480px;overflow:auto">${text}${tall}</main>`;
    expect(await opacityIn(box + style, 'main')).toBe(0.5);
  });

  test('does not change the animations of a page that does not scroll', async () => {
    const style = `${rules} p { animation: fade linear both; animation-timeline: view(); margin: 0; height: 20px }</style>`;
    expect(await opacityIn(`<p id="x">text</p>${style}`, 'html')).toBeGreaterThan(0.9);
  });

  test('waits until an animation that has just started has its start time', async () => {
    await page.show('<p id="x">text</p><div style="height:3000px"></div>');
    const isHeld = await page.read(async () => {
      const timeline = new ScrollTimeline({ source: document.documentElement });
      const animation = document.querySelector('p')?.animate([{ opacity: 0 }, { opacity: 0.8 }], { timeline });
      await holdScrollAnimations();
      return animation?.timeline === document.timeline;
    }, [animations.holdScrollAnimations]);
    expect(isHeld).toBe(true);
  });

  test.each([
    ['a scroll-driven animation', 5, 'scroll'],
    ['a paused one', 0, 'paused'],
    ['one that is driven by time', 0, 'time'],
  ])('waits for the start of %s for at most %i frames', async (_, frames, kind) => {
    await page.show('<p>text</p><div style="height:3000px"></div>');
    const passed = await page.call(
      async (driver: string) => {
        const timeline = driver === 'time' ? document.timeline : new ScrollTimeline();
        const options = { timeline, duration: driver === 'time' ? 100_000 : 'auto' };
        const animation = document.querySelector('p')?.animate([{ opacity: 0 }, { opacity: 0.8 }], options);
        if (driver === 'paused') animation?.pause();
        const ms = useClock();
        await holdScrollAnimations();
        return ms();
      },
      [kind],
      [animations.holdScrollAnimations, clock.useClock],
    );
    expect(passed).toBe(frames * 16);
  });
});
