/// <reference lib="dom" />
import * as effects from '../../services/renderer/page/scripts/effects.ts';
import { movesEndlessly } from '../../services/renderer/page/scripts/motion.ts';
import { holderOf, visibleShare } from '../../services/renderer/page/scripts/scenes.ts';
import * as scrolling from '../../services/renderer/page/scripts/scrolling.ts';
import type { PageState } from '../../services/renderer/page/scripts/state.ts';
import type { PageWaits } from '../../services/renderer/page/scripts/waits.ts';
import { holdInWindows } from '../../services/renderer/page/scripts/windows.ts';
import * as clock from './page-clock.ts';
import { sharedScriptPage } from './script-page.ts';

declare const holdScrollEffects: typeof effects.holdScrollEffects;
declare const pageState: PageState;
declare const scrollThrough: typeof scrolling.scrollThrough;
declare const scrollToTop: typeof scrolling.scrollToTop;
declare const useClock: typeof clock.useClock;
declare const waits: PageWaits;
declare const watchScrollEffects: typeof effects.watchScrollEffects;

/** Functions that are sent to the page together with the functions that watch and hold scroll effects. */
export const effectsTestHelpers = [
  effects.holdScrollEffects,
  effects.watchScrollEffects,
  ...effects.effectsHelpers,
  holdInWindows,
  movesEndlessly,
  holderOf,
  visibleShare,
  scrolling.scrollThrough,
  scrolling.scrollToTop,
  clock.useClock,
];

interface EffectsCase {
  readonly style?: string;
  /** Height of the page, in CSS pixels. */
  readonly height?: number;
  /** Values by element id, which replace the values that were recorded during scrolling. */
  readonly stations?: Readonly<Record<string, number>>;
  readonly fixed?: Readonly<Record<string, number>>;
  /** Elements that are removed before the effects are held. */
  readonly removed?: string;
  /** The box with the content of the page. */
  readonly scroller?: string;
  readonly budgetMs?: number;
  readonly recordsMotion?: boolean;
  /** Elements that were found to move without end. */
  readonly endless?: string;
}

/**
 * Scrolls through a page as a capture does, and holds its effects. The page runs `onFrame` in each frame, every 20 ms, with the scroll
 * position `y`, and the milliseconds `since` the first frame at that position. Returns the number of elements that were held, the rules and
 * the scenes by id, the scroll positions without repetitions, and the number of frames.
 */
export async function holdEffectsOf(
  body: string,
  onFrame: string,
  { style = '', height = 3000, ...options }: EffectsCase = {},
) {
  const box = options.scroller ?? 'html';
  const page = await sharedScriptPage();
  await page.show(
    `<main style="position:relative;height:${height}px;overflow:clip">${body}</main>
     <style>.e { position: absolute; left: 0; width: 20px; height: 20px } ${style}</style>
     <script>
       let y = 0, now = 0, moved = 0;
       const box = document.querySelector('${box}');
       const apply = () => { const since = now - moved; ${onFrame} };
       document.addEventListener('frame', ({ detail }) => {
         now = Number(detail);
         if (box.scrollTop !== y) moved = now;
         y = box.scrollTop;
         apply();
       });
       apply();
     </script>`,
  );
  return page.call(
    async (
      selector: string,
      { stations, fixed, removed, budgetMs = 60_000, recordsMotion = false, endless }: EffectsCase,
    ) => {
      const scroller = document.querySelector(selector) as Element;
      if (selector !== 'html') pageState.webcaptureScroller = { scrolled: scroller, panes: [] };
      const tops: number[] = [];
      let frames = 0;
      useClock((ms) => {
        frames += 1;
        if (tops.at(-1) !== scroller.scrollTop) tops.push(scroller.scrollTop);
        document.dispatchEvent(new CustomEvent('frame', { detail: `${ms}` }));
      });
      // The limits of the waits are multiples of 20 ms.
      Object.assign(waits, { untilFrame: () => waits.sleep(20) });
      watchScrollEffects();
      await scrollThrough(60_000, 100_000, 12);
      scrollToTop();
      const all = (counts: Readonly<Record<string, number>>) =>
        Object.entries(counts).map(([id, count]) => [document.querySelector(`#${id}`) as HTMLElement, count] as const);
      const recorded = pageState.webcaptureEffects as NonNullable<PageState['webcaptureEffects']>;
      pageState.webcaptureEffects = {
        ...recorded,
        ...(stations && { stations: new Map(all(stations)) }),
        ...(fixed && { fixed: new Map(all(fixed)) }),
      };
      document.querySelector(removed ?? '#none')?.remove();
      let hasForgotten = false;
      const observer = { takeRecords: () => (hasForgotten = true) } as unknown as MutationObserver;
      if (recordsMotion) pageState.webcaptureMotion = { observer, nodes: new Map() };
      const motion = { since: 0, last: 1501, isRepeated: true };
      const motions = new Map([...document.querySelectorAll(endless ?? '#none')].map((element) => [element, motion]));
      Object.assign(pageState, { webcaptureChanges: { motions } });
      tops.length = frames = 0;
      const held = await holdScrollEffects(budgetMs);
      const rules = document.adoptedStyleSheets.flatMap((sheet) => [...sheet.cssRules]) as CSSStyleRule[];
      return {
        held,
        frames,
        tops,
        hasForgotten,
        top: scroller.scrollTop,
        sheets: document.adoptedStyleSheets.length,
        rules: Object.fromEntries(
          rules.map((rule) => [document.querySelector(rule.selectorText)?.id ?? '', rule.style.cssText]),
        ),
        scenes: pageState.webcaptureScenes?.map(({ element, share }) => [element.id, share] as const) ?? [],
      };
    },
    [box, options],
    effectsTestHelpers,
  );
}
