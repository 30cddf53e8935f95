/// <reference lib="dom" />
import type { PageState } from './page-state.ts';

/**
 * Scrolls from where the page is to its end, a viewport at a time, each drawn once: what loads or appears when it is
 * scrolled to does so. Smooth scrolling and an overridden `scrollTo` do not matter here.
 *
 * @returns whether the end was reached within `budgetMs`, the height of the content, and how often it was scrolled
 */
export async function scrollThrough(
  budgetMs: number,
  mostHeight: number,
): Promise<{ readonly reachedEnd: boolean; readonly height: number; readonly steps: number }> {
  const target =
    (globalThis as PageState).webcaptureScroller?.element ?? document.scrollingElement ?? document.documentElement;
  const end = performance.now() + budgetMs;
  const frame = () =>
    Promise.race([
      new Promise<void>((resolve) => requestAnimationFrame(() => resolve())),
      new Promise<void>((resolve) => setTimeout(resolve, 100)),
    ]);
  for (let steps = 0; ; steps += 1) {
    const last = target.scrollHeight - target.clientHeight;
    if (target.scrollTop >= last - 1) return { reachedEnd: true, height: target.scrollHeight, steps };
    if (performance.now() > end || target.scrollTop > mostHeight) return { reachedEnd: false, height: target.scrollHeight, steps };
    const before = target.scrollTop;
    target.scrollTo({ top: Math.min(last, before + target.clientHeight), behavior: 'instant' });
    await frame();
    // A page that takes the scrolling back cannot be scrolled through.
    if (target.scrollTop <= before) return { reachedEnd: true, height: target.scrollHeight, steps };
  }
}
