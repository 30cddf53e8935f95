/// <reference lib="dom" />
import type { mayChangeWithin as MayChangeWithin } from './activity.ts';
import type { holderOf as HolderOf, visibleShare as VisibleShare } from './scenes.ts';
import type { PageState } from './state.ts';
import type { PageWaits } from './waits.ts';
import type { own as Own } from './own.ts';

declare const waits: PageWaits;
declare const pageState: PageState;
declare const own: typeof Own;
/** Functions that the caller sends to the page together with {@link scrollThrough}. */
declare const holderOf: typeof HolderOf;
declare const visibleShare: typeof VisibleShare;
/** A function that the caller sends to the page together with {@link isLocked}. */
declare const mayChangeWithin: typeof MayChangeWithin;

/**
 * Whether the page prevents scrolling (`overflow: hidden`). Visitors then see only the viewport.
 *
 * @param maxMs maximum wait for scripts to remove the lock
 * @param mayEndEarly whether the wait ends when the scripts have nothing due within its time; only if no requests are open
 */
export async function isLocked(maxMs: number, mayEndEarly: boolean): Promise<boolean> {
  const isHidden = () => {
    const root = getComputedStyle(document.documentElement).overflowY;
    // The viewport uses the body's overflow if the root's is `visible`.
    const overflow = root === 'visible' && document.body !== null ? getComputedStyle(document.body).overflowY : root;
    const page = document.scrollingElement ?? document.documentElement;
    return (overflow === 'hidden' || overflow === 'clip') && own(page).scrollHeight > innerHeight;
  };
  const end = performance.now() + maxMs;
  const mayUnlock = () => document.scripts.length > 0 && (!mayEndEarly || mayChangeWithin(end - performance.now()));
  while (isHidden() && performance.now() < end && mayUnlock()) await waits.sleep(50);
  return isHidden();
}

/**
 * Scrolls from the current position to the end of the page, one viewport per step. Content that loads or appears on scroll does so. After
 * each step, waits for a frame and for observers. Smooth scrolling and an overridden `scrollTo` have no effect.
 *
 * @param budgetMs time limit; with 0, only measures
 * @param maxHeight height of the content in CSS pixels above which scrolling stops
 * @param maxSteps makes the steps larger on a tall page; the tall viewport later shows what they skip
 * @returns whether the end was reached, the height of the content, and whether the page has scripts, without which it cannot react to
 * scrolling
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
  /**
   * Maximum wait for observers at each position, because they do not run if the browser does not draw the page. Each position has its own
   * wait, because many observers handle only the first of several entries.
   */
  const observeTimeoutMs = 300;
  const { webcaptureEffects } = pageState;
  /** Counts elements whose style has changed since the last position, once each. */
  const noteEffects = () => {
    if (webcaptureEffects === undefined) return;
    const { restyled, stations, fixed } = webcaptureEffects;
    for (const element of restyled) {
      stations.set(element, (stations.get(element) ?? 0) + 1);
      if (holderOf(element, 'fixed', target) !== undefined)
        fixed.set(element, Math.max(fixed.get(element) ?? 0, visibleShare(element)));
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
    await waits.waitForIntersectionObservers(observeTimeoutMs);
    noteEffects();
    // If a page reverts the scrolling, it cannot be scrolled through.
    if (own(target).scrollTop <= before) return at(true);
  }
}

/**
 * Scrolls past the elements that `countUnseen` has found, and back, in small steps like a mouse wheel. In a larger step, several boxes would
 * come into view together. Some observers handle only the first of several entries, and get one entry per box this way.
 *
 * @param budgetMs time limit
 */
export async function scrollAsWheel(budgetMs: number): Promise<void> {
  /** Height of a step in CSS pixels. Smooth scrolling covers about this distance between two frames. */
  const stepHeight = 50;
  /** Distance below the viewport at which an element is approached, in heights of the viewport. What is observed may lie above it. */
  const aheadViews = 0.5;
  /** Share of the viewport's height that an element crosses. An observer may wait until its box is in the middle of the viewport. */
  const crossedShare = 0.5;
  /** Maximum wait for observers, because they do not run if the browser does not draw the page. */
  const observeTimeoutMs = 300;
  const page = document.scrollingElement ?? document.documentElement;
  pageState.webcaptureLeaving?.observer.disconnect();
  delete pageState.webcaptureLeaving;
  const { webcaptureUnseen = [] } = pageState;
  /** Whether an element passes the lower part of the viewport when the page is scrolled further by `by`. */
  const isPassing = (element: Element, by: number) => {
    const { top, bottom } = own(element).getBoundingClientRect();
    return top - by <= innerHeight * (1 + aheadViews) && bottom - by >= innerHeight * (1 - crossedShare);
  };
  const end = performance.now() + budgetMs;
  const last = own(page).scrollHeight - innerHeight;
  for (let top = stepHeight; top < last + stepHeight && performance.now() < end; top += stepHeight) {
    const by = Math.min(top, last) - own(page).scrollTop;
    if (!webcaptureUnseen.some((element) => isPassing(element, by))) continue;
    own(page).scrollTo({ top, behavior: 'instant' });
    await waits.waitForIntersectionObservers(observeTimeoutMs);
  }
  own(page).scrollTo({ top: 0, behavior: 'instant' });
}

/** Scrolls back to the start of the page. */
export function scrollToTop(): void {
  const { webcaptureScroller } = pageState;
  own(webcaptureScroller?.scrolled)?.scrollTo({ top: 0, behavior: 'instant' });
  own(document.scrollingElement)?.scrollTo({ top: 0, left: 0, behavior: 'instant' });
}

/**
 * Dispatches scroll events on the page and on its scroll containers, for scripts that check what is in view on `scroll` but not on
 * `resize`.
 */
export function announceScroll(): void {
  document.dispatchEvent(new Event('scroll', { bubbles: true }));
  // The scroll event of an element does not bubble.
  for (const { element } of pageState.webcaptureScroller?.panes ?? []) own(element).dispatchEvent(new Event('scroll'));
  pageState.webcaptureShownAt = performance.now();
}
