/// <reference lib="dom" />
import { beforeAll, describe, expect, test } from 'vitest';
import { mayChangeWithin, type PageActivity } from '../../../services/renderer/page/scripts/activity.ts';
import * as panes from '../../../services/renderer/page/scripts/resizes-and-panes.ts';
import { holderOf, visibleShare } from '../../../services/renderer/page/scripts/scenes.ts';
import * as scrolling from '../../../services/renderer/page/scripts/scrolling.ts';
import type { PageState } from '../../../services/renderer/page/scripts/state.ts';
import * as clock from '../../harness/page-clock.ts';
import { type ScriptPage, sharedScriptPage } from '../../harness/script-page.ts';

declare const activity: PageActivity;
declare const pageState: PageState;
declare const announceScroll: typeof scrolling.announceScroll;
declare const isLocked: typeof scrolling.isLocked;
declare const rememberPanes: typeof panes.rememberPanes;
declare const restorePanes: typeof panes.restorePanes;
declare const scrollAsWheel: typeof scrolling.scrollAsWheel;
declare const scrollThrough: typeof scrolling.scrollThrough;
declare const scrollToTop: typeof scrolling.scrollToTop;
declare const useClock: typeof clock.useClock;

let page: ScriptPage;
beforeAll(async () => {
  page = await sharedScriptPage();
});

const { rememberPanes: remember, restorePanes: restore } = panes;
const helpers = [
  scrolling.announceScroll,
  scrolling.isLocked,
  scrolling.scrollAsWheel,
  scrolling.scrollThrough,
  scrolling.scrollToTop,
  holderOf,
  mayChangeWithin,
  visibleShare,
  clock.useClock,
  remember,
  restore,
];
const tall = (height: number) => `<div style="height:${height}px"></div>`;
const script = '<script></script>';

describe('isLocked', () => {
  /**
   * Returns the result, and the length of the wait in rounds of 50 ms. The lock of an element with the id `lock` is removed after 200 ms.
   *
   * @param inMs when the next callback of the page's scripts is due, if there is one
   */
  const locked = async (body: string, head = '', inMs: number | null = 0, mayEndEarly = true) => {
    await page.show(body, head);
    const [isPageLocked, ms] = await page.call(
      async (dueInMs: number | null, early: boolean) => {
        activity.due = () => (dueInMs === null ? [] : [{ kind: 'setTimeout', delay: 1, inMs: dueInMs, ran: 0 }]);
        const passed = useClock((now) => {
          if (now === 200) document.querySelector('#lock')?.remove();
        });
        return [await isLocked(1000, early), passed()] as const;
      },
      [inMs, mayEndEarly] as const,
      helpers,
    );
    return [isPageLocked, ms / 50];
  };
  const rule = (css: string, more = '') => `<style ${more}>${css}</style>`;

  test('is true if the overflow of the viewport is hidden, and the content is taller', async () => {
    for (const css of ['html{overflow:hidden}', 'html{overflow:clip}', 'body{overflow:hidden}', 'body{overflow:clip}'])
      expect(await locked(tall(481), rule(css)), css).toEqual([true, 0]);
    expect(await locked(tall(481), rule('html{overflow:auto}body{overflow:hidden}'))).toEqual([false, 0]);
    expect(await locked(tall(481), rule('html{overflow:scroll}'))).toEqual([false, 0]);
    expect(await locked(tall(481), rule('html{overflow-x:hidden}'))).toEqual([false, 0]);
    expect(await locked(tall(481))).toEqual([false, 0]);
    expect(await locked(tall(480), rule('html{overflow:hidden}'))).toEqual([false, 0]);
  });

  test('waits for scripts to remove the lock', async () => {
    const lock = rule('html{overflow:hidden}', 'id="lock"');
    expect(await locked(tall(481) + script, lock)).toEqual([false, 4]);
    expect(await locked(tall(481), lock)).toEqual([true, 0]);
    expect(await locked(tall(481) + script, rule('html{overflow:hidden}'))).toEqual([true, 20]);
  });

  test('waits only while a callback of the scripts is due in time', async () => {
    const lock = rule('html{overflow:hidden}', 'id="lock"');
    expect(await locked(tall(481) + script, lock, null)).toEqual([true, 0]);
    expect(await locked(tall(481) + script, lock, 1000)).toEqual([true, 0]);
    expect(await locked(tall(481) + script, lock, 900)).toEqual([true, 2]);
    expect(await locked(tall(481) + script, lock, null, false)).toEqual([false, 4]);
  });
});

describe('scrollThrough', () => {
  /** Returns the result, and the scroll positions of each wait. */
  const scrolled = async (
    body: string,
    { budgetMs = 60_000, maxHeight = 90_000, maxSteps = 100, pane = '', revertsTo = -1 } = {},
  ) => {
    await page.show(body, '<style>html { scroll-behavior: smooth }</style>');
    return page.call(
      async (limits: readonly [number, number, number], selector: string, to: number) => {
        const box = selector === '' ? document.documentElement : document.querySelector(selector);
        if (selector !== '') pageState.webcaptureScroller = { scrolled: box as Element, panes: [] };
        const tops: number[] = [];
        useClock(() => {
          tops.push(box?.scrollTop ?? -1);
          if (to >= 0) box?.scrollTo({ top: to, behavior: 'instant' });
        });
        return { ...(await scrollThrough(...limits)), tops };
      },
      [[budgetMs, maxHeight, maxSteps], pane, revertsTo] as const,
      helpers,
    );
  };

  test('scrolls to the end, one viewport at a time', async () => {
    expect(await scrolled(tall(1800))).toEqual({
      reachedEnd: true,
      height: 1800,
      scripted: false,
      tops: [480, 960, 1320],
    });
    expect(await scrolled(tall(480))).toEqual({ reachedEnd: true, height: 480, scripted: false, tops: [] });
    expect(await scrolled(tall(481))).toMatchObject({ reachedEnd: true, tops: [] });
    expect(await scrolled(tall(482))).toMatchObject({ reachedEnd: true, tops: [2] });
    expect(await scrolled(tall(1800) + script)).toMatchObject({ scripted: true });
    expect(await scrolled(`<p onscroll="void 0">${tall(10)}</p>`)).toMatchObject({ scripted: true });
  });

  test('keeps to its limits', async () => {
    expect(await scrolled(tall(1800), { budgetMs: 0 })).toMatchObject({ reachedEnd: false, height: 1800, tops: [] });
    expect(await scrolled(tall(1800), { budgetMs: 17 })).toMatchObject({ reachedEnd: false, tops: [480, 960] });
    expect(await scrolled(tall(1800), { maxHeight: 1799 })).toMatchObject({ reachedEnd: false, tops: [] });
    expect(await scrolled(tall(1800), { maxHeight: 1800 })).toMatchObject({ reachedEnd: true });
    expect(await scrolled(tall(2400), { maxSteps: 2 })).toMatchObject({ reachedEnd: true, tops: [1200, 1920] });
    expect(await scrolled(tall(1800), { revertsTo: 0 })).toMatchObject({ reachedEnd: true, tops: [480] });
  });

  test('scrolls the box with the content of the page', async () => {
    const pane = `<main style="height:100px;overflow:auto;scroll-behavior:smooth">${tall(250)}</main>`;
    expect(await scrolled(pane + tall(1000), { pane: 'main' })).toMatchObject({
      reachedEnd: true,
      height: 250,
      tops: [100, 150],
    });
  });

  test('counts the positions at which scripts restyle an element, and records which share of the viewport fixed elements cover', async () => {
    await page.show(
      `${tall(1800)}<i id="a"></i><p style="position:fixed;top:0;left:0;width:320px;height:480px"><b id="b" style="display:block;height:480px"></b></p>`,
    );
    const noted = await page.read(async () => {
      const [a, b] = ['#a', '#b'].map((id) => document.querySelector(id) as HTMLElement);
      const restyled = new Set<HTMLElement>();
      const effects = { observer: {} as MutationObserver, restyled, stations: new Map(), fixed: new Map() };
      pageState.webcaptureEffects = effects;
      let waits = 0;
      useClock(() => {
        waits += 1;
        if (waits < 3) restyled.add(a as HTMLElement);
        restyled.add(b as HTMLElement);
        (b as HTMLElement).style.height = waits === 2 ? '240px' : '120px';
      });
      await scrollThrough(60_000, 90_000, 100);
      const byId = (map: Map<HTMLElement, number>) => [...map].map(([{ id }, value]) => [id, value]);
      return { stations: byId(effects.stations), fixed: byId(effects.fixed), left: restyled.size };
    }, helpers);
    expect(noted).toEqual({
      stations: [
        ['a', 2],
        ['b', 3],
      ],
      fixed: [['b', 0.25]],
      left: 0,
    });
  });
});

describe('scrollAsWheel', () => {
  /** Returns the positions to which a page is scrolled that has an unseen box of 10 px at each of the places. */
  const scrolled = async (height: number, places: readonly number[], budgetMs = 60_000) => {
    const boxes = places.map((top) => `<i style="position:absolute;top:${top}px;width:9px;height:10px"></i>`);
    await page.show(tall(height) + boxes.join(''), '<style>html { scroll-behavior: smooth }</style>');
    return page.call(
      async (most: number) => {
        const tops: number[] = [];
        let disconnected = 0;
        const observer = { disconnect: () => (disconnected += 1) } as unknown as MutationObserver;
        Object.assign(pageState, {
          webcaptureLeaving: { observer, records: [] },
          webcaptureUnseen: [...document.querySelectorAll('i')],
        });
        useClock(() => tops.push(scrollY));
        await scrollAsWheel(most);
        return { tops, end: scrollY, disconnected, isForgotten: !('webcaptureLeaving' in pageState) };
      },
      [budgetMs],
      helpers,
    );
  };
  const rest = { end: 0, disconnected: 1, isForgotten: true };
  const from = (first: number, last: number) =>
    Array.from({ length: (last - first) / 50 + 1 }, (_, index) => first + 50 * index);

  test('scrolls in small steps to the end of the page, and back', async () => {
    expect(await scrolled(600, [550])).toEqual({ tops: [50, 100, 120], ...rest });
    expect(await scrolled(580, [550])).toEqual({ tops: [50, 100], ...rest });
    expect(await scrolled(480, [400])).toEqual({ tops: [], ...rest });
    expect(await scrolled(600, [550], 17)).toEqual({ tops: [50, 100], ...rest });
    expect(await scrolled(600, [550], 0)).toEqual({ tops: [], ...rest });
  });

  test('visits only the neighborhood of unseen elements', async () => {
    // The viewport has 480 px. A box is approached from 720 px below the upper edge, and passes its middle at 240 px.
    const near = (top: number) => from(Math.ceil((top - 720) / 50) * 50, Math.floor((top + 10 - 240) / 50) * 50);
    expect((await scrolled(5000, [2000])).tops).toEqual(near(2000));
    expect((await scrolled(5000, [2020])).tops).toEqual(near(2020));
    expect((await scrolled(5000, [2000, 4000])).tops).toEqual([...near(2000), ...near(4000)]);
    expect((await scrolled(5000, [])).tops).toEqual([]);
  });

  test('leaves elements that were removed', async () => {
    await page.show(tall(2000));
    const tops = await page.read(async () => {
      pageState.webcaptureUnseen = [document.createElement('p')];
      const seen: number[] = [];
      useClock(() => seen.push(scrollY));
      await scrollAsWheel(60_000);
      return seen;
    }, helpers);
    expect(tops).toEqual([]);
  });
});

test('scrollToTop scrolls the page and the box with its content', async () => {
  await page.show(
    `<main style="height:100px;overflow:auto;scroll-behavior:smooth">${tall(250)}</main><div style="width:2000px;height:2000px"></div>`,
    '<style>html { scroll-behavior: smooth }</style>',
  );
  const places = await page.read(() => {
    const main = document.querySelector('main') as Element;
    const scroll = () => {
      main.scrollTo({ top: 50, behavior: 'instant' });
      document.documentElement.scrollTo({ top: 60, left: 70, behavior: 'instant' });
    };
    const read = () => [main.scrollTop, scrollX, scrollY];
    scroll();
    const all = [read()];
    scrollToTop();
    all.push(read());
    scroll();
    pageState.webcaptureScroller = { scrolled: main, panes: [] };
    scrollToTop();
    return [...all, read()];
  }, helpers);
  expect(places).toEqual([
    [50, 70, 60],
    [50, 0, 0],
    [0, 0, 0],
  ]);
});

test('announceScroll dispatches events on the page and its scroll containers, and notes the time', async () => {
  await page.show('<main></main><p></p>');
  const seen = await page.read(() => {
    const calls: string[] = [];
    const [main, other] = [document.querySelector('main'), document.querySelector('p')];
    addEventListener('scroll', () => calls.push('window'));
    document.addEventListener('scroll', () => calls.push('document'));
    for (const each of [main, other, document.body]) each?.addEventListener('scroll', () => calls.push(each.localName));
    announceScroll();
    const before = pageState.webcaptureShownAt;
    const panes = [{ element: main as Element, scrolled: main as Element, chain: [] }];
    pageState.webcaptureScroller = { scrolled: main as Element, panes };
    announceScroll();
    return { calls, isNoted: before !== undefined && before > 0 };
  }, helpers);
  expect(seen).toEqual({ calls: ['document', 'window', 'document', 'window', 'main'], isNoted: true });
});

test('restorePanes restores the scroll positions of boxes, and keeps those at their end there', async () => {
  await page.show(
    `${['top', 'middle', 'end', 'almost', 'main'].map((id) => `<section id="${id}" style="height:100px;overflow:auto;scroll-behavior:smooth">${tall(300)}</section>`).join('')}${tall(1000)}`,
  );
  const tops = await page.read(() => {
    const all = [...document.querySelectorAll<HTMLElement>('section')];
    const [top, middle, end, almost, main] = all as [HTMLElement, HTMLElement, HTMLElement, HTMLElement, HTMLElement];
    const to = (element: Element, y: number) => element.scrollTo({ top: y, behavior: 'instant' });
    restorePanes();
    to(middle, 50);
    to(end, 199);
    to(almost, 198);
    to(main, 70);
    to(document.documentElement, 10);
    pageState.webcaptureScroller = { scrolled: main, panes: [] };
    rememberPanes();
    for (const each of all) {
      to(each, 0);
      (each.firstElementChild as HTMLElement).style.height = '400px';
    }
    to(middle, 49);
    to(top, 30);
    to(document.documentElement, 0);
    restorePanes();
    return [...all.map(({ scrollTop }) => scrollTop), scrollY];
  }, helpers);
  expect(tops).toEqual([30, 49, 300, 198, 0, 0]);
});

test('hideResizes hides resize events that interceptResizes sees first', async () => {
  await page.show('');
  await page.call(panes.interceptResizes, []);
  await page.page.evaluate(() => addEventListener('resize', () => (document.title += 'x')));
  const title = () => page.read(() => document.title);
  await page.read(() => void dispatchEvent(new Event('resize')));
  expect(await title()).toBe('Testx');
  await page.call(panes.hideResizes, []);
  await page.read(() => void dispatchEvent(new Event('resize')));
  expect(await title()).toBe('Testx');
});
