/// <reference lib="dom" />
import type { PageState } from './state.ts';
import type { everyElement as EveryElement } from './tree.ts';
import type { own as Own } from './own.ts';

declare const own: typeof Own;
declare const pageState: PageState;
/** A function that the caller sends to the page together with the functions of this file. */
declare const everyElement: typeof EveryElement;

/** Whether a box of this size, in CSS pixels, is large enough to scroll the page. */
function isLarge(width: number, height: number): boolean {
  /** Minimum share of the viewport's height and width. A smaller box is a list or a menu. */
  const minHeightShare = 0.25;
  const minWidthShare = 0.1;
  return width >= innerWidth * minWidthShare && height >= innerHeight * minHeightShare;
}

/** Whether the page has a frame of another origin that is large enough for {@link findScroller}. */
export function hasLargeForeignFrame(): boolean {
  return everyElement().some((element) => {
    if (!(element instanceof HTMLIFrameElement) || element.contentDocument !== null) return false;
    const { width, height } = own(element).getBoundingClientRect();
    return isLarge(width, height);
  });
}

/** Stores the height of a frame's content, in CSS pixels. */
export function noteFrameHeight(frame: HTMLIFrameElement, height: number): void {
  (pageState.webcaptureFrameHeights ??= new Map()).set(frame, height);
}

/** Returns by how much the content of a frame of another origin is taller than the frame. */
function foreignExcess(frame: HTMLIFrameElement): number {
  const height = pageState.webcaptureFrameHeights?.get(frame);
  return height === undefined ? 0 : height - frame.clientHeight;
}

/** Functions that must be sent to the page together with a function of this file. */
export const scrollerHelpers = [foreignExcess, isLarge] as const;

/**
 * Finds the boxes that scroll the page's content if the document itself does not scroll: an app shell, a body with its own scroll bar,
 * panes side by side, or frames. Stores them for {@link growScroller}.
 *
 * @returns by how much the content of a box exceeds the box, for the box with the most content; null if there is no such box
 */
export function findScroller(): number | null {
  /**
   * Share of the viewport by which a document must scroll to scroll the page's content. A margin or a footer can make it scroll by less.
   */
  const maxRootShare = 0.25;
  /** Minimum share of the viewport that the found boxes cover together. */
  const minShare = 0.4;
  const root = document.scrollingElement ?? document.documentElement;
  const rootOverflow = getComputedStyle(document.documentElement).overflowY;
  const rootExcess = own(root).scrollHeight - innerHeight;
  if (rootExcess > innerHeight * maxRootShare && rootOverflow !== 'hidden') return null;

  const rootOf = (frame: HTMLIFrameElement): Element | null => frame.contentDocument?.scrollingElement ?? null;
  const excessOf = (element: Element): number => {
    if (element instanceof HTMLIFrameElement) {
      const inner = rootOf(element);
      return inner === null ? foreignExcess(element) : inner.scrollHeight - inner.clientHeight;
    }
    return own(element).scrollHeight - own(element).clientHeight;
  };
  /** Returns the width and height of the visible part. */
  const sightOf = (element: Element): readonly [width: number, height: number] => {
    const { left, right, top, bottom } = own(element).getBoundingClientRect();
    return [Math.min(right, innerWidth) - Math.max(left, 0), Math.min(bottom, innerHeight) - Math.max(top, 0)];
  };
  const scrolls = (element: Element): boolean => {
    if (element === root || excessOf(element) <= 1) return false;
    if (!own(element).checkVisibility({ opacityProperty: true, visibilityProperty: true })) return false;
    if (!isLarge(...sightOf(element))) return false;
    if (element instanceof HTMLIFrameElement) return true;
    const { overflowY } = getComputedStyle(element);
    return overflowY === 'auto' || overflowY === 'scroll';
  };
  /** Returns the parent box of an element in the rendered tree. */
  const outerOf = (element: Element): Element | null => {
    const { assignedSlot, parentElement } = own(element);
    const tree = own(element).getRootNode();
    return assignedSlot ?? parentElement ?? (tree instanceof ShadowRoot ? tree.host : null);
  };
  const isInside = (element: Element, outer: Element) => {
    let at = outerOf(element);
    while (at !== null && at !== outer) at = outerOf(at);
    return at !== null;
  };
  const candidates = everyElement().filter(scrolls);
  // A box inside a box that scrolls the page is part of its content, such as a list.
  const boxes = candidates.filter(
    (element) => !candidates.some((outer) => excessOf(outer) > innerHeight * maxRootShare && isInside(element, outer)),
  );
  const isOutermost = (element: Element) => !boxes.some((outer) => isInside(element, outer));
  const area = boxes
    .filter(isOutermost)
    .map(sightOf)
    .reduce((sum, [width, height]) => sum + width * height, 0);
  if (area < innerWidth * innerHeight * minShare) return null;

  const panes = boxes.map((element) => {
    const chain: HTMLElement[] = [];
    for (let at: Element | null = element; at !== null; at = outerOf(at)) {
      if (at instanceof HTMLElement) chain.push(at);
    }
    return { element, scrolled: element instanceof HTMLIFrameElement ? (rootOf(element) ?? element) : element, chain };
  });
  // Inner boxes come first, because an outer box may become taller with its inner boxes.
  panes.sort((a, b) => b.chain.length - a.chain.length);
  const first = panes.toSorted((a, b) => excessOf(b.element) - excessOf(a.element))[0] as (typeof panes)[number];
  pageState.webcaptureScroller = { scrolled: first.scrolled, panes };
  return excessOf(first.element);
}

/**
 * Makes the boxes that scroll the page's content as tall as their content, and all their ancestors taller by the same amount. This happens
 * in one step, because in single steps the heights would add up. The boxes then show all content without scrolling. Elements above and
 * below them keep their height.
 */
export function growScroller(): void {
  const setHeight = (element: HTMLElement, height: number) => {
    own(element).style.setProperty('height', `${height}px`, 'important');
    own(element).style.setProperty('max-height', 'none', 'important');
  };
  const heightOf = (element: Element) => own(element).getBoundingClientRect().height;
  for (const { element: pane, scrolled, chain } of pageState.webcaptureScroller?.panes ?? []) {
    const isForeign = pane instanceof HTMLIFrameElement && scrolled === pane;
    const by = isForeign ? foreignExcess(pane) : own(scrolled).scrollHeight - own(scrolled).clientHeight;
    if (by <= 0) continue;
    const { top, bottom } = own(pane).getBoundingClientRect();
    const others = chain
      .flatMap((element) => [...(own(element).parentNode?.children ?? [])].filter((one) => one !== element))
      .filter((one) => one instanceof HTMLElement)
      .filter((one) => {
        const box = own(one).getBoundingClientRect();
        return box.bottom <= top + 1 || box.top >= bottom - 1;
      })
      .map((one) => ({ one, height: heightOf(one) }));
    const heights = chain.map(heightOf);
    chain.forEach((element, index) => setHeight(element, (heights[index] ?? 0) + by));
    for (const { one, height } of others) if (Math.abs(heightOf(one) - height) > 1) setHeight(one, height);
  }
  pageState.webcaptureMotion?.observer.takeRecords();
}

/**
 * Makes the boxes from {@link findScroller} and their ancestors as tall as their content. {@link growScroller} sets fixed heights, but on
 * paper, heights must follow the content, because page breaks make it taller. Boxes that cannot follow get a minimum height that shows
 * the whole content.
 */
export function unrollScroller(): void {
  const set = (element: HTMLElement, properties: Readonly<Record<string, string>>) => {
    for (const [name, value] of Object.entries(properties)) own(element).style.setProperty(name, value, 'important');
  };
  const heightOf = (element: Element) => own(element).getBoundingClientRect().height;
  const wanted = new Map<HTMLElement, number>();
  for (const { scrolled, chain } of pageState.webcaptureScroller?.panes ?? []) {
    const by = own(scrolled).scrollHeight - own(scrolled).clientHeight;
    if (by <= 0) continue;
    for (const one of chain) wanted.set(one, Math.max(wanted.get(one) ?? 0, heightOf(one) + by));
  }
  for (const [element, height] of wanted) {
    if (element instanceof HTMLIFrameElement) {
      set(element, { height: `${height}px`, 'max-height': 'none' });
      continue;
    }
    const { overflowX, overflowY, position } = getComputedStyle(element);
    const { top, left, width } = own(element).getBoundingClientRect();
    set(element, {
      transition: 'none',
      height: 'auto',
      contain: 'none',
      'container-type': 'normal',
      // Content that is clipped at the sides would widen the paper.
      ...(overflowY === 'visible'
        ? {}
        : { 'overflow-x': overflowX === 'hidden' ? 'clip' : 'visible', 'overflow-y': 'visible' }),
    });
    if (position !== 'fixed') continue;
    // A fixed box would show the same part of its content on every page.
    set(element, { position: 'absolute', inset: '0px auto auto 0px', 'box-sizing': 'border-box', width: `${width}px` });
    const at = own(element).getBoundingClientRect();
    set(element, { top: `${top - at.top}px`, left: `${left - at.left}px` });
  }
  for (const [element, height] of wanted) {
    if (element === document.documentElement) continue;
    // The height has no effect if the content is positioned, or is in a grid row with a fixed height.
    if (heightOf(element) < height - 1) set(element, { 'min-height': `${height}px` });
  }
}
