/// <reference lib="dom" />
import type { PageState } from './state.ts';
import type { own as Own } from './own.ts';

declare const pageState: PageState;
declare const own: typeof Own;

export interface PageMeasures {
  /** Height of the scrollable content in CSS pixels; at least the height of the viewport. */
  readonly height: number;
  /** Width of all content in CSS pixels; at least the width of the viewport. */
  readonly width: number;
  /** How far the content extends past the left edge. Right-to-left and vertical documents scroll to the left. */
  readonly left: number;
  /** Size of the viewport. */
  readonly viewWidth: number;
  readonly viewHeight: number;
  /** Height of the content in the flow. It is less than `height` if the viewport is taller than the page. */
  readonly contentHeight: number;
}

export function measurePage(): PageMeasures {
  const root = document.scrollingElement ?? document.documentElement;
  const rootBox = own(document.documentElement).getBoundingClientRect();
  // If the root has a fixed height, its content overflows the root and the body.
  const { body } = document;
  const bodyHeight = body === null ? 0 : own(body).getBoundingClientRect().top - rootBox.top + own(body).scrollHeight;
  // A scroll container with the page's content may be fixed to the viewport, and thus not be in the flow.
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
    left: fromRight ? own(root).scrollWidth - own(root).clientWidth : 0,
    viewWidth: innerWidth,
    viewHeight: innerHeight,
    contentHeight: Math.ceil(Math.max(rootBox.height, bodyHeight, scrollerHeight)),
  };
}

/** Whether the page has more than `max` table cells with a box. */
export function hasMoreCells(max: number): boolean {
  const cells = document.querySelectorAll('td, th');
  // Whether a cell has a box is read only if it matters, because that takes milliseconds for a table of 1,000 cells.
  return cells.length > max && [...cells].filter((cell) => own(cell).checkVisibility()).length > max;
}

/** Returns the height of the scrollable content of a document, in CSS pixels. */
export function readContentHeight(): number {
  return own(document.scrollingElement ?? document.documentElement).scrollHeight;
}

/** Returns the layout width of the page in CSS pixels, ignoring content that overflows. */
export function readLayoutWidth(): number {
  return Math.max(1, own(document.scrollingElement ?? document.documentElement).clientWidth);
}

export interface PageFacts {
  readonly title: string;
  /** URL of the document, as the page sees it. */
  readonly url: string;
  /** Whether elements exist that only bot walls contain. */
  readonly wall: boolean;
}

/** Reads the facts about the page for the report. */
export function readPageFacts(wallSelector: string): PageFacts {
  return {
    title: document.title.slice(0, 2000),
    url: location.href,
    wall: document.querySelector(wallSelector) !== null,
  };
}

/** Whether the page has painted. A page does not paint while a stylesheet in its head is loading. */
export function hasPainted(): boolean {
  return performance.getEntriesByType('paint').length > 0;
}
