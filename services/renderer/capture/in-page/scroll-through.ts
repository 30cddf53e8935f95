/// <reference lib="dom" />
import type { PageState } from './page-state.ts';

/**
 * Scrolls from where the page is to its end, a viewport at a time, each drawn and observed once: what loads or appears
 * when it is scrolled to does so. Smooth scrolling and an overridden `scrollTo` do not matter here.
 *
 * @param budgetMs it stops there; with 0 it only looks
 * @param mostHeight CSS pixels: it stops where the content has grown taller than that
 * @param mostSteps a tall page is scrolled through in larger steps: growing the viewport shows what they leave out
 * @returns whether it is at the end, the height of the content, and whether there are scripts, which alone can tell that
 *   a page is scrolled
 */
export async function scrollThrough(
  budgetMs: number,
  mostHeight: number,
  mostSteps: number,
): Promise<{ readonly reachedEnd: boolean; readonly height: number; readonly scripted: boolean }> {
  const target =
    (globalThis as PageState).webcaptureScroller?.element ?? document.scrollingElement ?? document.documentElement;
  const scripted = document.scripts.length > 0 || document.querySelector('[onscroll]') !== null;
  const at = (reachedEnd: boolean) => ({ reachedEnd, height: target.scrollHeight, scripted });
  const end = performance.now() + budgetMs;
  // As until-observed.ts, which cannot be imported where this runs: observers hear of each station by itself, since many
  // look at the first of several messages only.
  const patienceMs = 300;
  const observed = () =>
    new Promise<void>((resolve) => {
      const done = () => {
        observer.disconnect();
        clearTimeout(timer);
        resolve();
      };
      const observer = new IntersectionObserver(done);
      const timer = setTimeout(done, patienceMs);
      observer.observe(document.documentElement);
    });
  for (;;) {
    const last = target.scrollHeight - target.clientHeight;
    if (target.scrollTop >= last - 1) return at(true);
    if (performance.now() >= end || target.scrollHeight > mostHeight) return at(false);
    const before = target.scrollTop;
    const step = Math.max(target.clientHeight, target.scrollHeight / mostSteps);
    target.scrollTo({ top: Math.min(last, before + step), behavior: 'instant' });
    await observed();
    // A page that takes the scrolling back cannot be scrolled through.
    if (target.scrollTop <= before) return at(true);
  }
}
