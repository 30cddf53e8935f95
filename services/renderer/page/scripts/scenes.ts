/// <reference lib="dom" />
import type { PageState } from './state.ts';
import type { own as Own } from './own.ts';

declare const own: typeof Own;
declare const pageState: PageState;

/** Returns the outermost ancestor of an element, or itself, that stays in view while `scroller` is scrolled. */
export function holderOf(element: Element, position: 'fixed' | 'sticky', scroller: Element): Element | undefined {
  let holder: Element | undefined;
  for (let at: Element | null = element; at !== null && at !== scroller; at = own(at).parentElement) {
    if (getComputedStyle(at).position === position) holder = at;
  }
  return holder;
}

/** Share of the viewport that the visible part of an element covers, from 0 to 1. */
export function visibleShare(element: Element): number {
  if (!own(element).checkVisibility({ opacityProperty: true, visibilityProperty: true })) return 0;
  const { left, right, top, bottom } = own(element).getBoundingClientRect();
  const width = Math.max(0, Math.min(right, innerWidth) - Math.max(left, 0));
  const height = Math.max(0, Math.min(bottom, innerHeight) - Math.max(top, 0));
  return (width * height) / (innerWidth * innerHeight);
}

/**
 * Returns the sum of the shares of the viewport that scenes cover. It can exceed 1, because each of several scenes may cover the whole
 * viewport.
 */
export function shareOfScenes(): number {
  const { webcaptureScenes: scenes = [] } = pageState;
  return scenes
    .filter(({ element }) => !scenes.some((inner) => inner.element !== element && own(element).contains(inner.element)))
    .reduce((sum, { share }) => sum + Math.max(0, share), 0);
}
