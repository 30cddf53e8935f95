/// <reference lib="dom" />
import type { PageState } from './page-state.ts';

/**
 * Makes the scroller that holds the page, and all that is around it, taller by so many CSS pixels, at once: one by one
 * the heights would add up. It then shows all of its content without scrolling.
 *
 * @returns by how much its content is still taller than the element
 */
export function growScroller(by: number): number {
  const scroller = (globalThis as PageState).webcaptureScroller;
  if (scroller === undefined) return 0;
  for (const { element, height } of scroller.chain) {
    element.style.setProperty('height', `${height + by}px`, 'important');
    element.style.setProperty('max-height', 'none', 'important');
  }
  (globalThis as PageState).webcaptureMotion?.observer.takeRecords();
  return scroller.element.scrollHeight - scroller.element.clientHeight;
}
