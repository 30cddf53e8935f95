/// <reference lib="dom" />
import type { PageState } from './state.ts';
import type { own as Own } from './own.ts';

declare const pageState: PageState;
declare const own: typeof Own;

export interface PageMeasures {
  /** Of all content that can be scrolled to, and at least of the viewport, in CSS pixels. */
  readonly height: number;
  /** Of all content, and at least of the viewport. */
  readonly width: number;
  /** How far the content hangs out to the left of where the page begins: a document from right to left, or in vertical lines, is scrolled that way. */
  readonly left: number;
  /** Of the viewport. */
  readonly viewWidth: number;
  readonly viewHeight: number;
  /** Of the content in the flow: less than `height` when the viewport is taller than the page. */
  readonly contentHeight: number;
}

export function measurePage(): PageMeasures {
  const root = document.scrollingElement ?? document.documentElement;
  const rootBox = own(document.documentElement).getBoundingClientRect();
  // Where the root's height is fixed, its content flows out of it, and out of the body.
  const { body } = document;
  const bodyHeight = body === null ? 0 : own(body).getBoundingClientRect().top - rootBox.top + own(body).scrollHeight;
  // A scroller that holds the page may be fixed to the viewport, and not in the flow.
  const panes = pageState.webcaptureScroller?.panes ?? [];
  const scrollerHeight = Math.max(
    0,
    ...panes.map(({ element }) => own(element).getBoundingClientRect().bottom - rootBox.top),
  );
  const { direction, writingMode } = getComputedStyle(body ?? document.documentElement);
  const fromRight =
    ['vertical-rl', 'sideways-rl'].includes(writingMode) || (direction === 'rtl' && writingMode === 'horizontal-tb');
  return {
    height: Math.ceil(Math.max(own(root).scrollHeight, own(document.documentElement).scrollHeight, scrollerHeight)),
    width: Math.max(own(root).scrollWidth, own(document.documentElement).scrollWidth),
    left: fromRight ? Math.max(0, own(root).scrollWidth - own(root).clientWidth) : 0,
    viewWidth: innerWidth,
    viewHeight: innerHeight,
    contentHeight: Math.ceil(Math.max(rootBox.height, bodyHeight, scrollerHeight)),
  };
}

/** Returns the height of all that a document can be scrolled to, in CSS pixels. */
export function readContentHeight(): number {
  return own(document.scrollingElement ?? document.documentElement).scrollHeight;
}

/** The width that the page is laid out in, in CSS pixels, whatever hangs out of it. */
export function readLayoutWidth(): number {
  return Math.max(1, own(document.scrollingElement ?? document.documentElement).clientWidth);
}

export interface PageFacts {
  readonly title: string;
  /** Address of the document, as the page sees it. */
  readonly url: string;
  /** Elements that only bot walls have. */
  readonly wall: boolean;
}

/** What a capture tells about the page. */
export function readPageFacts(wallSelector: string): PageFacts {
  return {
    title: document.title.slice(0, 2000),
    url: location.href,
    wall: document.querySelector(wallSelector) !== null,
  };
}

/** Whether the page has drawn anything yet. It has not while a stylesheet in its head is still to come. */
export function hasPainted(): boolean {
  return performance.getEntriesByType('paint').length > 0;
}
