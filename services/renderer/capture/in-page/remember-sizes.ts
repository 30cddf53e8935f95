/// <reference lib="dom" />
import type { PageState, RememberedSize } from './page-state.ts';

/**
 * Remembers the sizes that may depend on the height of the viewport, for {@link pinSizes} once that has grown. Not of
 * what is fixed to the viewport: a fixed background is to cover the whole picture. Where a scroller holds the page, only of
 * what is inside of it: what stands around it grows with it.
 */
export function rememberSizes(properties: readonly string[]): void {
  /** Looking at more would take seconds. */
  const mostElements = 20_000;
  const state = globalThis as PageState;
  const fixed = new Set<Element>();
  const elements: RememberedSize[] = [];
  const all = (state.webcaptureScroller?.element ?? document).querySelectorAll<HTMLElement>('*');
  for (let index = 0; index < all.length && elements.length < mostElements; index += 1) {
    const element = all[index];
    if (element === undefined || !('style' in element)) continue;
    const parent = element.parentElement;
    if ((parent !== null && fixed.has(parent)) || getComputedStyle(element).position === 'fixed') {
      fixed.add(element);
      continue;
    }
    const computed = element.computedStyleMap();
    elements.push({
      element,
      height: element.getBoundingClientRect().height,
      values: properties.map((property) => computed.get(property)?.toString() ?? ''),
    });
  }
  state.webcaptureSizes = { viewHeight: innerHeight, elements };
}
