// @module-tag long
// @module-tag page-script
/// <reference lib="dom" />
import { beforeAll, describe, expect, test } from 'vitest';
import { scriptsHaveEnded } from '../../../services/renderer/page/scripts/activity.ts';
import * as animations from '../../../services/renderer/page/scripts/animations.ts';
import type { PageState } from '../../../services/renderer/page/scripts/state.ts';
import { cssMayUse } from '../../../services/renderer/page/scripts/styles.ts';
import { type ScriptPage, sharedScriptPage } from '../../harness/script-page.ts';

declare const pageState: PageState;
declare const waitForRest: typeof animations.waitForRest;
declare const waitForReveals: typeof animations.waitForReveals;

const { finishAnimations, holdScrollAnimations, showPulsing, watchMotion } = animations;

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
  expect(await page.call(finishAnimations, [])).toBe(2);
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
  expect(await page.call(finishAnimations, [])).toBe(0);
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
    await page.call(showPulsing, []);
    const seen = Object.fromEntries((await page.read(states)).map(([id, ...state]) => [id, state]));
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
    await page.call(showPulsing, []);
    // The most visible element of the row is already at its maximum.
    const both = Object.fromEntries((await page.read(states)).map(([id, ...state]) => [id, state]));
    expect(both).toEqual({ one: ['running', 0], two: ['running', 0.9], other: ['paused', 0.8] });
    await page.show(
      `<p id="one">text</p><p id="two">text</p>
       <style>@keyframes word { from, 40% { opacity: 0 } 50%, 60% { opacity: 0.9 } 70%, to { opacity: 0 } }
         p { animation: word 100s linear -220s infinite } #two { animation-delay: -242s }</style>`,
    );
    await page.call(showPulsing, []);
    expect(Object.fromEntries((await page.read(states)).map(([id, ...state]) => [id, state]))).toEqual({
      one: ['paused', 0],
      two: ['paused', 0.9],
    });
    const times = await page.read(() =>
      document.getAnimations().map(({ currentTime }) => Math.round(Number(currentTime) / 100)),
    );
    expect(times).toEqual([1130, 1130]);
  });
});

test('holdScrollAnimations freezes scroll-driven animations by the place of their elements', async () => {
  await page.show(
    `<header id="bar"><i id="inBar"></i></header><i id="fixed"></i><i id="top"></i><i id="middle"></i><i id="low"></i><i id="view"></i>
     <i id="ranged"></i><div id="box"><i id="inBox"></i><b></b></div><p id="time">text</p>
     <style>@keyframes fade { from { opacity: 0 } to { opacity: 1 } } i { animation: fade linear; animation-timeline: scroll(root); position: absolute; height: 20px; width: 20px }
       body { height: 2480px } #bar { position: sticky; top: 0 } #fixed { position: fixed; top: 400px } #top { top: 0 } #middle { top: 1230px } #low { top: 2460px }
       #view { top: 1000px; animation-timeline: view() } #ranged { top: 0; animation-range: 50% 60% }
       #box { position: absolute; top: 600px; height: 100px; overflow: auto; width: 100px } #box b { display: block; height: 500px } #inBox { animation-timeline: scroll(nearest) }
       #time { animation: fade 100s; margin: 0 }</style>`,
  );
  await page.call(holdScrollAnimations, []);
  const { inBar, fixed, top, middle, low, view, ranged, inBox, time = 1 } = await page.read(readOpacities);
  expect({ inBar, fixed, top, middle, low, view, ranged, inBox }).toEqual({
    inBar: 0,
    fixed: 0,
    top: 0,
    middle: 0.5,
    low: 1,
    view: 0.5,
    ranged: 1,
    inBox: 0,
  });
  expect(time).toBeLessThan(0.5);
  await page.read(() => scrollTo(0, 2000));
  expect(await page.read(readOpacities)).toMatchObject({ top: 0, middle: 0.5, low: 1, view: 0.5, fixed: 0 });
});

describe('waitForRest', () => {
  const timeOf = async (maxMs: number, mayBeIdle = false) => {
    const started = performance.now();
    await page.call(animations.waitForRest, [maxMs, mayBeIdle], [scriptsHaveEnded]);
    return performance.now() - started;
  };
  const rest = (script: string) => page.show(`<p>text</p><p id="more">text</p><script>${script}</script>`);

  test('returns at once if nothing moves, and waits while scripts change a node again and again', async () => {
    await rest('');
    await page.call(watchMotion, []);
    expect(await timeOf(60_000)).toBeLessThan(20_000);
    const count = await page.read(async () => {
      let steps = 0;
      const change = () => {
        document.querySelector('p')?.setAttribute('data-step', `${(steps += 1)}`);
        if (steps < 20) setTimeout(change, 20);
      };
      change();
      await Promise.resolve();
      await waitForRest(60_000, false);
      return steps;
    }, [animations.waitForRest, scriptsHaveEnded]);
    expect(count).toBe(20);
  });

  test('does not wait for endless motion longer than the limit, and returns at once if the scripts have ended', async () => {
    await rest('');
    expect(await timeOf(60_000, true)).toBeLessThan(20_000);
    await rest(`setInterval(() => more.setAttribute('data-step', performance.now()), 20)`);
    await page.call(watchMotion, []);
    expect(await timeOf(300)).toBeLessThan(20_000);
  });

  test('waits until lazy images have their addresses', async () => {
    await page.show(`<img id="lazy" data-src="/a.png" style="width:9px;height:9px"><img data-src="/b.png" hidden><img data-other="/c.png">
      <script>setTimeout(() => (lazy.src = '/a.png'), 600)</script>`);
    await timeOf(60_000);
    expect(await page.read(() => document.querySelector('#lazy')?.getAttribute('src'))).toBe('/a.png');
    expect(await timeOf(60_000)).toBeLessThan(20_000);
    await page.show('<img srcset="/a.png" data-src="/b.png" style="width:9px;height:9px">');
    expect(await timeOf(60_000)).toBeLessThan(20_000);
    const placeholder = 'data:image/gif;base64,R0lGODlhAQABAAAAACw=';
    await page.show(`<img id="lazy" src="${placeholder}" data-src="/a.png" style="width:9px;height:9px">
      <script>setTimeout(() => (lazy.src = '/a.png'), 600)</script>`);
    await timeOf(60_000);
    expect(await page.read(() => document.querySelector('#lazy')?.getAttribute('src'))).toBe('/a.png');
  });
});

describe('waitForReveals', () => {
  /** Shows the hidden elements, or removes them, after the wait has begun. */
  const reveal = () =>
    page.read(() => {
      const waited = waitForReveals(20_000, 20_000);
      for (const each of document.querySelectorAll('.late')) {
        if (each.classList.contains('goes')) each.remove();
        each.removeAttribute('style');
      }
      return waited;
    }, [animations.waitForReveals, cssMayUse]);
  const late = (style: string, content = 'text') =>
    `<div class="late" style="${style}">${content}</div><script></script>`;
  const path = '<path class="late" d="M0 0H99V99" stroke="red" stroke-width="9" style="stroke-dashoffset:99"></path>';

  test('waits for texts and pictures that are hidden in their places', async () => {
    for (const [body, count] of [
      [late('opacity:0.04'), 1],
      [late('visibility:hidden'), 1],
      [late('clip-path:inset(0 100% 0 0)'), 1],
      [late('clip-path:inset(100%)'), 1],
      ['<p class="late goes" style="opacity:0">text</p><script></script>', 1],
      [late('opacity:0', '<img style="width:9px;height:9px">'), 1],
      [late('opacity:0', '<svg></svg>'), 1],
      [`<svg>${path}</svg><script></script>`, 1],
      [late('opacity:0', '<b class="late" style="opacity:0">text</b>'), 1],
      [late('opacity:0') + late('visibility:hidden'), 2],
    ] as const) {
      await page.show(body);
      expect(await reveal(), body).toBe(count);
    }
  });

  test('does not wait for what is visible, empty, out of view or above the page', async () => {
    for (const body of [
      late('opacity:0.05'),
      late('clip-path:inset(10%)'),
      '<p class="late" style="opacity:0">text</p>',
      late('opacity:0', ' '),
      late('opacity:0;margin-top:480px'),
      late('opacity:0;margin-top:-100px;height:100px'),
      late('opacity:0;width:1px'),
      late('opacity:0;height:1px'),
      late('opacity:0;position:fixed'),
      `<div style="position:absolute">${late('opacity:0')}</div>`,
      `<style>i { display: none }</style>${'<i></i>'.repeat(4000)}${late('opacity:0')}`,
    ]) {
      await page.show(body);
      expect(await reveal(), body.slice(-200)).toBe(0);
    }
  });

  test('gives up what stays hidden', async () => {
    await page.show('<p style="opacity:0">text</p><script></script>');
    expect(await page.call(animations.waitForReveals, [100, 60_000], [cssMayUse])).toBe(0);
    expect(await page.call(animations.waitForReveals, [60_000, 100], [cssMayUse])).toBe(0);
  });
});

test('watchMotion records changes with short pauses as one motion', async () => {
  await page.show('<p>text</p>');
  await page.call(watchMotion, []);
  const change = () => page.read(() => document.querySelector('p')?.setAttribute('data-step', `${performance.now()}`));
  const motion = () =>
    page.read(() => {
      const [each] = pageState.webcaptureMotion?.nodes.values() ?? [];
      return each && { isRepeated: each.isRepeated, isLonger: each.last > each.since };
    });
  await change();
  expect(await motion()).toEqual({ isRepeated: false, isLonger: false });
  await page.read(() => {
    for (const each of pageState.webcaptureMotion?.nodes.values() ?? [])
      (each as { last: number }).last = performance.now();
  });
  await change();
  expect(await motion()).toEqual({ isRepeated: true, isLonger: true });
  await page.read(() => {
    for (const each of pageState.webcaptureMotion?.nodes.values() ?? [])
      (each as { last: number }).last = performance.now() - 250;
  });
  await change();
  expect(await motion()).toEqual({ isRepeated: false, isLonger: false });
});
