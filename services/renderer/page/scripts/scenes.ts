/// <reference lib="dom" />
import type { own as Own } from './own.ts';

declare const own: typeof Own;

/** The outermost box around an element, or itself, that stays in sight while `scroller` is scrolled. */
export function holderOf(element: Element, position: 'fixed' | 'sticky', scroller: Element): Element | undefined {
  let holder: Element | undefined;
  for (let at: Element | null = element; at !== null && at !== scroller; at = own(at).parentElement) {
    if (getComputedStyle(at).position === position) holder = at;
  }
  return holder;
}

/** The share of the viewport that is covered by what is in sight of an element, from 0 to 1. */
export function shareInSight(element: Element): number {
  if (!own(element).checkVisibility({ opacityProperty: true, visibilityProperty: true })) return 0;
  const { left, right, top, bottom } = own(element).getBoundingClientRect();
  const width = Math.max(0, Math.min(right, innerWidth) - Math.max(left, 0));
  const height = Math.max(0, Math.min(bottom, innerHeight) - Math.max(top, 0));
  return (width * height) / (innerWidth * innerHeight);
}
