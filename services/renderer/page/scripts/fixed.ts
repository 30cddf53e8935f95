/// <reference lib="dom" />
import type { FixedBox, PageState, StyleChange } from './state.ts';
import type { own as Own } from './own.ts';

declare const own: typeof Own;
declare const pageState: PageState;

/**
 * Remembers the boxes that are fixed to the viewport and hold something to read or to use (sidebars, dialogs), for
 * {@link keepFixedContents} once the viewport has grown. What holds nothing is a background, and grows with it.
 */
export function rememberFixed(): void {
  const maxContents = 20;
  const state = pageState;
  const holder = state.webcaptureScroller?.element;
  const boxes: FixedBox[] = [];
  for (const element of document.querySelectorAll<HTMLElement>('body *')) {
    if (!(own(element).style instanceof CSSStyleDeclaration) || getComputedStyle(element).position !== 'fixed')
      continue;
    if (holder && (own(element).contains(holder) || own(holder).contains(element))) continue;
    if (!own(element).checkVisibility({ visibilityProperty: true })) continue;
    const { top, height } = own(element).getBoundingClientRect();
    if (height === 0 || (own(element).innerText ?? '').trim() === '') continue;
    const contents = [element, ...own(element).querySelectorAll('*')]
      .filter((one) => own(one).childElementCount === 0 && own(one).checkVisibility({ visibilityProperty: true }))
      .slice(0, maxContents)
      .map((one) => ({ element: one, top: own(one).getBoundingClientRect().top }));
    boxes.push({ element, top, height, contents });
  }
  state.webcaptureFixed = boxes;
}

/**
 * Boxes that have grown with the viewport keep what they hold where it was, with their background down to the end of the
 * page; those that stood in the middle of the viewport stay there. What hangs at its lower edge goes to the end of the page.
 *
 * @param grown by how many CSS pixels the viewport has grown
 */
export function keepFixedContents(grown: number): void {
  const { webcaptureFixed = [], webcaptureMotion } = pageState;
  const undo: StyleChange[] = [];
  const near = (a: number, b: number) => Math.abs(a - b) <= 2;
  /** The box, or what covers it, with one of these heights, and is the first to have a background. */
  const paintedOf = (element: HTMLElement, heights: readonly number[]): HTMLElement => {
    const { width } = own(element).getBoundingClientRect();
    for (let at: Element | undefined = element; at instanceof HTMLElement;) {
      const { backgroundColor, backgroundImage } = getComputedStyle(at);
      if (backgroundColor !== 'rgba(0, 0, 0, 0)' || backgroundImage !== 'none') return at;
      at = [...own(at).children].find((child) => {
        const box = own(child).getBoundingClientRect();
        return near(box.width, width) && heights.some((height) => near(box.height, height));
      });
    }
    return element;
  };
  for (const { element, top, height, contents } of webcaptureFixed) {
    if (!own(element).isConnected) continue;
    const important = (name: string, value: string, styled = element) => {
      const { style } = own(styled);
      undo.push([style, name, style.getPropertyValue(name), style.getPropertyPriority(name)]);
      style.setProperty(name, value, 'important');
    };
    const isKept = () => contents.every((one) => near(own(one.element).getBoundingClientRect().top, one.top));
    const now = own(element).getBoundingClientRect();
    const hasGrown = near(now.height, height + grown);
    // What has the background goes on: it may lie inside of the box, and cover it.
    const painted = hasGrown ? paintedOf(element, [height, now.height]) : element;
    if (isKept() && painted === element) continue;
    if (hasGrown) {
      const isPadded = [painted, element].some((padded) => {
        const tried = undo.length;
        const padding = Number.parseFloat(getComputedStyle(padded).paddingBottom) + grown;
        important('padding-bottom', `${padding}px`, padded);
        important('box-sizing', 'border-box', padded);
        if (padded !== element) important('height', `${now.height}px`, padded);
        if (isKept()) return true;
        for (const [changed, ...property] of undo.splice(tried).toReversed()) changed.setProperty(...property);
        return false;
      });
      if (isPadded || isKept()) continue;
      for (const name of ['height', 'min-height', 'max-height']) important(name, `${height}px`);
      important('box-sizing', 'border-box');
      important('bottom', 'auto');
    }
    const moved = own(element).getBoundingClientRect().top - top;
    if (near(moved, 0) || near(moved, grown)) continue;
    important('top', `${Number.parseFloat(getComputedStyle(element).top) - moved}px`);
    important('bottom', 'auto');
  }
  pageState.webcaptureFixedChanges = undo;
  webcaptureMotion?.observer.takeRecords();
}

/** Takes back what {@link keepFixedContents} did: the viewport is again as it was. */
export function releaseFixed(): void {
  const { webcaptureFixedChanges = [] } = pageState;
  for (const [style, ...property] of webcaptureFixedChanges.toReversed()) style.setProperty(...property);
  delete pageState.webcaptureFixedChanges;
}
