/// <reference lib="dom" />
import { beforeAll, describe, expect, test } from 'vitest';
import * as animations from '../../../services/renderer/page/scripts/animations.ts';
import type { PageState } from '../../../services/renderer/page/scripts/state.ts';
import * as tiles from '../../../services/renderer/page/scripts/tiles.ts';
import * as clock from '../../harness/page-clock.ts';
import { type ScriptPage, sharedScriptPage } from '../../harness/script-page.ts';

declare const pageState: PageState;
declare const showTile: typeof tiles.showTile;
declare const useClock: typeof clock.useClock;

let page: ScriptPage;
beforeAll(async () => {
  page = await sharedScriptPage();
});

const { prepareTiles } = tiles;
const at = (place: string, width: number, height: number, more = '') =>
  `style="position:fixed;${place};width:${width}px;height:${height}px;${more}"`;
const long = '<div style="height:2000px"></div>';

/** Shows the tiles at 0, 480 and 960 px, the last of which is at the end, and returns what `look` returns at each. */
async function showAll<R>(look: () => R, isLastAt = 960): Promise<Awaited<R>[]> {
  const looks: Awaited<R>[] = [];
  for (const top of [0, 480, 960]) {
    await page.call(tiles.showTile, [top, top === isLastAt, 0], [animations.finishAnimations]);
    looks.push(await page.read(look));
  }
  return looks;
}

/** Returns the ids of the elements that are shown. */
const shown = () =>
  [...document.querySelectorAll('[id]')]
    .filter((each) => each.checkVisibility({ opacityProperty: true }))
    .map(({ id }) => id)
    .join(' ');

test('prepareTiles records places in the page and fixed elements in view, and puts sticky ones into the flow', async () => {
  await page.show(
    `<div style="height:100px"></div><p id="flow" style="margin:0 0 0 20px;width:300px;height:50px"></p>
     <b id="sticky" style="position:sticky;top:10px;left:5px;display:block;height:40px"></b>
     <i id="top" ${at('top:0', 9, 9)}></i><i id="low" ${at('top:479px', 9, 9)}></i><i id="below" ${at('top:480px', 9, 9)}></i><i id="above" ${at('top:-9px', 9, 9)}></i>
     <i id="edge" ${at('top:-8px', 9, 9)}></i><i id="clear" ${at('top:0', 9, 9, 'opacity:0')}></i><i id="hidden" ${at('top:0', 9, 9, 'visibility:hidden')}></i>
     <form id="form" ${at('top:0', 9, 9)}><input name="style"><input name="getBoundingClientRect"></form>${long}`,
  );
  await page.read(() => scrollTo(0, 120));
  await page.call(prepareTiles, []);
  const { flow, fixedAtTop, shownCount } = await page.read(() => {
    const state = pageState.webcaptureTiles;
    return {
      flow: Object.fromEntries(
        [...(state?.flow ?? [])].filter(([{ id }]) => id !== '').map(([{ id }, place]) => [id, place]),
      ),
      fixedAtTop: [...(state?.fixedAtTop ?? [])].map(({ id }) => id),
      shownCount: state?.shown.size,
    };
  });
  expect(flow).toEqual({ flow: { top: 100, left: 20, width: 300 }, sticky: { top: 150, left: 0, width: 640 } });
  expect([fixedAtTop, shownCount]).toEqual([['top', 'low', 'edge', 'form'], 0]);
  const style = await page.read(() => {
    const sticky = document.querySelector('#sticky') as HTMLElement;
    sticky.style.setProperty('position', 'sticky');
    const { position, top, left } = getComputedStyle(sticky);
    return [position, top, left, getComputedStyle(document.querySelector('#flow') as Element).position];
  });
  expect(style).toEqual(['relative', '0px', '0px', 'static']);
});

describe('showTile', () => {
  test('shows fixed elements in the first or in the last tile', async () => {
    await page.show(
      `<i id="bar" ${at('top:0', 640, 40)}></i><i id="half" ${at('top:240px', 40, 40)}></i><i id="lower" ${at('top:241px', 40, 40)}></i>
       <i id="foot" ${at('bottom:0', 640, 40)}></i><svg id="svg" ${at('top:0', 40, 40)}></svg><math id="math" ${at('top:0', 40, 40)}></math>
       <form id="form" ${at('top:0', 40, 40)}><input name="style"></form><b id="own" ${at('top:0', 40, 40, 'opacity:0.9 !important')}></b>${long}`,
    );
    await page.call(prepareTiles, []);
    expect(await showAll(shown)).toEqual(['bar half svg math form own', 'math', 'lower foot math']);
    expect(await page.read(() => document.querySelector<HTMLElement>('#bar')?.style.cssText)).toMatch(
      /opacity: 0 !important; transition: none !important;$/,
    );
    // The page was scrolled by a script instead of smoothly.
    expect(await page.read(() => scrollY)).toBe(960);
    await page.call(tiles.showTile, [0, true, 0], [animations.finishAnimations]);
    expect(await page.read(shown)).toBe('bar half lower foot svg math form own');
  });

  test('keeps backgrounds in every tile, and hides their contents like other elements', async () => {
    await page.show(
      `<div id="back" ${at('top:0', 640, 432)}><i id="picture">.</i></div><div id="empty" ${at('top:0', 640, 480)}> <i id="plain"></i></div>
       <div id="less" ${at('top:0', 640, 431)}></div>${long}`,
    );
    await page.call(prepareTiles, []);
    expect(await showAll(shown)).toEqual(['back picture empty plain less', 'back empty plain', 'back empty plain']);
  });

  test('shows large elements that appear later in one tile, and leaves out buttons', async () => {
    const hidden = 'display:none';
    await page.show(
      `<div id="large" ${at('top:0', 100, 62, hidden)}></div><div id="small" ${at('top:0', 96, 64, hidden)}></div>
       <div id="faint" ${at('top:0', 100, 100, hidden)}></div><div id="out" ${at('top:480px', 100, 100, hidden)}></div><div id="off" ${at('top:-100px', 100, 100, hidden)}></div>${long}`,
    );
    await page.call(prepareTiles, []);
    await page.call(tiles.showTile, [0, false, 0], [animations.finishAnimations]);
    await page.read(() => {
      for (const each of document.querySelectorAll<HTMLElement>('[id]')) each.style.display = 'block';
      (document.querySelector('#faint') as HTMLElement).style.opacity = '0.5';
    });
    const looks: string[] = [];
    for (const [top, isLast] of [
      [480, false],
      [960, false],
      [1440, true],
    ] as const) {
      await page.call(tiles.showTile, [top, isLast, 0], [animations.finishAnimations]);
      looks.push(await page.read(shown));
      if (top === 480)
        await page.read(() => {
          const faint = document.querySelector('#faint') as HTMLElement;
          faint.style.setProperty('opacity', '0.51');
          (document.querySelector('#out') as HTMLElement).style.top = '479px';
          (document.querySelector('#off') as HTMLElement).style.top = '-99px';
        });
    }
    expect(looks[0]).toBe('large');
    expect(looks[2]).not.toContain('large');
    expect(looks[2]).not.toContain('small');
  });

  test('puts elements that become fixed back to their places', async () => {
    await page.show(
      `<div style="height:100px"></div><section style="width:300px;padding-left:20px"><nav id="nav" style="height:50px;transition:top 9s"></nav></section>${long}
       <style>.stuck { position: fixed; top: 30px; right: 0; bottom: 0; margin-top: 7px }</style>`,
    );
    await page.read(() => document.body.append(document.createElementNS('urn:other', 'foreign')));
    await page.call(prepareTiles, []);
    const place = () => {
      document.querySelector('foreign')?.setAttribute('class', 'stuck');
      const nav = document.querySelector('nav') as HTMLElement;
      nav.classList.add('stuck');
      const { left, top, width, height } = nav.getBoundingClientRect();
      const { position, transitionProperty } = getComputedStyle(nav);
      return [left, top + scrollY, width, height, position, transitionProperty];
    };
    const [first, second, third] = await showAll(place);
    expect(first?.slice(0, 4)).not.toEqual([20, 100, 300, 50]);
    expect(second).toEqual([20, 100, 300, 50, 'absolute', 'none']);
    expect(third).toEqual(second);
    // Elements that are not fixed keep their styles.
    expect(await page.read(() => document.querySelector('div')?.style.cssText)).toBe('height: 100px;');
  });

  test('leaves scenes, and what they are in or contain, in every tile', async () => {
    await page.show(
      `<div id="outer" ${at('top:0', 40, 40)}><div id="scene" ${at('top:0', 40, 40)}><i id="inner" ${at('top:0', 40, 40)}></i></div></div>
       <i id="other" ${at('top:0', 40, 40)}></i>${long}`,
    );
    await page.read(() => {
      const element = document.querySelector('#scene') as HTMLElement;
      pageState.webcaptureScenes = [{ element, share: 1 }];
    });
    await page.call(prepareTiles, []);
    const scenes = 'outer scene inner';
    expect(await showAll(shown)).toEqual([`${scenes} other`, scenes, scenes]);
  });

  test('shows fixed elements of a document that has replaced the prepared one', async () => {
    await page.show(`<i id="bar" ${at('top:0', 640, 40)}></i><i id="foot" ${at('bottom:0', 640, 40)}></i>${long}`);
    expect(await showAll(shown)).toEqual(['bar', '', 'foot']);
  });

  test('finishes animations', async () => {
    await page.show(
      `<p id="p" style="animation:in 100s both">text</p><style>@keyframes in { from { opacity: 0 } }</style>${long}`,
    );
    await page.call(prepareTiles, []);
    expect((await showAll(shown))[0]).toBe('p');
  });

  describe('waits for the changes of scripts', () => {
    /** Returns the number of frames until the tile is shown. */
    const framesFor = async (restMs: number, changesUntil: number, sinceMs = 0, body = '') => {
      await page.show(body + long);
      await page.call(prepareTiles, []);
      return page.call(
        async (rest: number, until: number, before: number) => {
          const nodes = new Map();
          const observer = {} as MutationObserver;
          const passed = useClock((ms) => {
            const now = performance.now();
            if (ms <= until) nodes.set(document.body, { since: now - before, last: now, isRepeated: true });
          });
          pageState.webcaptureMotion = { observer, nodes };
          await showTile(0, false, rest);
          return passed() / 16;
        },
        [restMs, changesUntil, sinceMs] as const,
        [tiles.showTile, animations.finishAnimations, clock.useClock],
      );
    };

    test('until a frame without one, or until its limit and for at least three rounds', async () => {
      expect(await framesFor(1000, 0)).toBe(2);
      expect(await framesFor(1000, 160)).toBe(13);
      expect(await framesFor(0, 160)).toBe(4);
      expect(await framesFor(100, 1600)).toBe(7);
    });

    test('and for a frame after animations have ended', async () => {
      const body = '<p style="animation:in 100s"></p><style>@keyframes in { from { opacity: 0 } }</style>';
      expect(await framesFor(1000, 0, 0, body)).toBe(3);
    });

    test('unless they are endless', async () => {
      expect(await framesFor(1000, 160, 999)).toBe(13);
      expect(await framesFor(1000, 160, 1000)).toBe(2);
    });
  });
});
