/// <reference lib="dom" />
import type { holderOf as HolderOf, shareInSight as ShareInSight } from './scenes.ts';
import type { PageState } from './state.ts';
import type { PageWaits } from './waits.ts';
import type { own as Own } from './own.ts';

declare const waits: PageWaits;
declare const pageState: PageState;
declare const own: typeof Own;
/** Helpers of the call of {@link scrollThrough}. */
declare const holderOf: typeof HolderOf;
declare const shareInSight: typeof ShareInSight;

/**
 * Whether the page keeps whoever looks at it from scrolling (`overflow: hidden`), so that nobody sees more than the viewport.
 *
 * @param maxMs a page that is to be scrolled once its scripts have let go is waited for
 */
export async function isLocked(maxMs: number): Promise<boolean> {
  const isHidden = () => {
    const root = getComputedStyle(document.documentElement).overflowY;
    // The viewport takes it from the body where the root says nothing.
    const said = root === 'visible' && document.body !== null ? getComputedStyle(document.body).overflowY : root;
    const page = document.scrollingElement ?? document.documentElement;
    return (said === 'hidden' || said === 'clip') && own(page).scrollHeight > innerHeight;
  };
  const end = performance.now() + maxMs;
  while (isHidden() && document.scripts.length > 0 && performance.now() < end) await waits.sleep(50);
  return isHidden();
}

/**
 * Scrolls from where the page is to its end, a viewport at a time, each drawn and observed once: what loads or appears
 * when it is scrolled to does so. Smooth scrolling and an overridden `scrollTo` do not matter here.
 *
 * @param budgetMs it stops there; with 0 it only looks
 * @param maxHeight CSS pixels: it stops where the content has grown taller than that
 * @param maxSteps a tall page is scrolled through in larger steps: growing the viewport shows what they leave out
 * @returns whether it is at the end, the height of the content, and whether there are scripts, which alone can tell that
 *   a page is scrolled
 */
export async function scrollThrough(
  budgetMs: number,
  maxHeight: number,
  maxSteps: number,
): Promise<{ readonly reachedEnd: boolean; readonly height: number; readonly scripted: boolean }> {
  const target = pageState.webcaptureScroller?.scrolled ?? document.scrollingElement ?? document.documentElement;
  const scripted = document.scripts.length > 0 || document.querySelector('[onscroll]') !== null;
  const at = (reachedEnd: boolean) => ({ reachedEnd, height: own(target).scrollHeight, scripted });
  const end = performance.now() + budgetMs;
  /** For a page that is not drawn. Observers hear of each station by itself, since many look at the first of several entries only. */
  const observeTimeoutMs = 300;
  const { webcaptureEffects } = pageState;
  /** Elements whose style has changed since the last station, once each. */
  const noteEffects = () => {
    if (webcaptureEffects === undefined) return;
    const { restyled, stations, fixed } = webcaptureEffects;
    for (const element of restyled) {
      stations.set(element, (stations.get(element) ?? 0) + 1);
      if (holderOf(element, 'fixed', target) !== undefined)
        fixed.set(element, Math.max(fixed.get(element) ?? 0, shareInSight(element)));
    }
    restyled.clear();
  };
  for (;;) {
    const last = own(target).scrollHeight - own(target).clientHeight;
    if (own(target).scrollTop >= last - 1) return at(true);
    if (performance.now() >= end || own(target).scrollHeight > maxHeight) return at(false);
    const before = own(target).scrollTop;
    const step = Math.max(own(target).clientHeight, own(target).scrollHeight / maxSteps);
    own(target).scrollTo({ top: Math.min(last, before + step), behavior: 'instant' });
    await waits.untilObserved(observeTimeoutMs);
    noteEffects();
    // A page that takes the scrolling back cannot be scrolled through.
    if (own(target).scrollTop <= before) return at(true);
  }
}

/**
 * Scrolls through the page as a wheel does, and back: an observer that looks at the first of several entries only gets an entry for each
 * box then. A larger step brings several boxes into sight at once.
 *
 * @param budgetMs it stops there
 */
export async function scrollAsWheel(budgetMs: number): Promise<void> {
  /** In CSS pixels: about what smooth scrolling moves between two frames. */
  const stepHeight = 50;
  /** For a page that is not drawn. */
  const observeTimeoutMs = 300;
  const page = document.scrollingElement ?? document.documentElement;
  pageState.webcaptureLeaving?.observer.disconnect();
  delete pageState.webcaptureLeaving;
  const end = performance.now() + budgetMs;
  const last = own(page).scrollHeight - innerHeight;
  for (let top = stepHeight; top < last + stepHeight && performance.now() < end; top += stepHeight) {
    own(page).scrollTo({ top, behavior: 'instant' });
    await waits.untilObserved(observeTimeoutMs);
  }
  own(page).scrollTo({ top: 0, behavior: 'instant' });
}

/** Back to where the page begins. */
export function scrollToTop(): void {
  const { webcaptureScroller } = pageState;
  own(webcaptureScroller?.scrolled)?.scrollTo({ top: 0, behavior: 'instant' });
  own(document.scrollingElement)?.scrollTo({ top: 0, left: 0, behavior: 'instant' });
}

/** Lets scripts look again at what is in sight, that do so on scrolling and not on resizing: of the page, and of boxes that scroll its content. */
export function announceScroll(): void {
  document.dispatchEvent(new Event('scroll', { bubbles: true }));
  // The event of a box does not bubble.
  for (const { element } of pageState.webcaptureScroller?.panes ?? []) own(element).dispatchEvent(new Event('scroll'));
  pageState.webcaptureShownAt = performance.now();
}
