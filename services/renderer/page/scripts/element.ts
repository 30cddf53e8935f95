/// <reference lib="dom" />
import type { ParsedSelector } from '@webcapture/shared/api/selector.ts';
import type {
  boxesAtLevels as BoxesAtLevels,
  boxOf as BoxOf,
  isVisible as IsVisible,
  levelsOf as LevelsOf,
  scrollToBox as ScrollToBox,
} from './boxes.ts';
import type { measurePage as MeasurePage } from './measures.ts';
import type { clearView as ClearView, openBoxes as OpenBoxes } from './covers.ts';
import type { selectAll as SelectAll } from './selecting.ts';
import type { PageState } from './state.ts';
import type { PageWaits } from './waits.ts';
import type { own as Own } from './own.ts';

declare const waits: PageWaits;
declare const pageState: PageState;
declare const own: typeof Own;
/** Functions that the caller sends to the page together with the functions of this file. */
declare const boxesAtLevels: typeof BoxesAtLevels;
declare const boxOf: typeof BoxOf;
declare const clearView: typeof ClearView;
declare const isVisible: typeof IsVisible;
declare const levelsOf: typeof LevelsOf;
declare const measurePage: typeof MeasurePage;
declare const openBoxes: typeof OpenBoxes;
declare const scrollToBox: typeof ScrollToBox;
declare const selectAll: typeof SelectAll;

/** A box in the document, in CSS pixels from its top left corner. */
export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/**
 * Scrolls to the first visible match, in scroll containers and frames too. If the match is larger than the viewport, scrolls through it,
 * so that content that loads or appears on scroll is present. Scroll containers and frames that are too small to show it whole stop
 * clipping it.
 *
 * @returns whether it is larger than the viewport
 */
export async function scrollToElement(parts: ParsedSelector): Promise<boolean> {
  /** Maximum wait for observers, because they do not run if the browser does not draw the page. */
  const observeTimeoutMs = 300;
  /** Maximum number of steps of one viewport. The rest of a taller element is captured without scrolling to it. */
  const maxSteps = 40;
  const element = selectAll(parts, { enters: isVisible }).elements.find(isVisible);
  if (element === undefined) return false;
  pageState.webcaptureElement = element;

  /** Returns the share of the element that is not clipped. */
  const shareInView = async () => {
    const { promise, resolve } = Promise.withResolvers<number>();
    const observer = new IntersectionObserver(([entry]) => resolve(entry?.intersectionRatio ?? 0));
    observer.observe(element);
    const share = await Promise.race([promise, waits.sleep(observeTimeoutMs).then(() => 0)]);
    observer.disconnect();
    return share;
  };
  const scrollTo = (block: ScrollLogicalPosition) => scrollToBox(element, block, 'nearest');
  if ((await shareInView()) > 0.99) return false;
  scrollTo('center');

  const levels = levelsOf(element);
  let hasOpened = false;
  for (const [index, level] of levels.entries()) {
    if (openBoxes(level)) hasOpened = true;
    const frame = levels[index + 1]?.target;
    if (frame === undefined) continue;
    // The frame becomes large enough to show the whole element. A scroll bar would take some of its space.
    const [box, { innerWidth: viewWidth, innerHeight: viewHeight }] = [boxOf(level.target), level.view];
    const { style } = own(frame as HTMLElement);
    const enlarge = (side: 'width' | 'height', to: number, from: number) => {
      if (to <= from + 1) return;
      for (const [name, value] of [
        ['box-sizing', 'content-box'],
        ['flex', 'none'],
        [`max-${side}`, 'none'],
        [side, `${Math.ceil(to)}px`],
      ] as const) {
        style.setProperty(name, value, 'important');
      }
      hasOpened = true;
    };
    enlarge('width', box.width, viewWidth);
    enlarge('height', box.height, viewHeight);
  }
  if (hasOpened) scrollTo('center');

  const { height, width } = boxesAtLevels(element, levels).at(-1) ?? boxOf(element);
  const isTall = height > innerHeight || width > innerWidth;
  if (!isTall) return false;
  scrollTo('start');
  const [left, top] = [scrollX, scrollY];
  const { writingMode } = getComputedStyle(document.body ?? document.documentElement);
  const isVertical = writingMode !== 'horizontal-tb';
  const [length, view] = isVertical ? [width, innerWidth] : [height, innerHeight];
  const sense = writingMode.endsWith('-rl') ? -1 : 1;
  for (let step = 1; step <= maxSteps && step * view < length; step += 1) {
    await waits.waitForIntersectionObservers(observeTimeoutMs);
    const by = step * view;
    window.scrollTo({ ...(isVertical ? { left: left + sense * by } : { top: top + by }), behavior: 'instant' });
  }
  await waits.waitForIntersectionObservers(observeTimeoutMs);
  scrollTo('start');
  return true;
}

/**
 * Hides elements that cover the first visible match, at any scroll position.
 *
 * @returns its box with the padding, limited to the page; null if nothing matches
 */
export function isolateElement(parts: ParsedSelector, padding: number): Box | null {
  const known = pageState.webcaptureElement;
  const element =
    known !== undefined && own(known).isConnected && isVisible(known)
      ? known
      : selectAll(parts, { enters: isVisible }).elements.find(isVisible);
  if (element === undefined) return null;
  const levels = levelsOf(element);
  for (const [index, level] of levels.entries()) {
    clearView(level, () => boxesAtLevels(element, levels)[index] ?? boxOf(element), padding);
  }

  const root = document.scrollingElement ?? document.documentElement;
  const box = boxesAtLevels(element, levels).at(-1) ?? boxOf(element);
  const [pageX, pageY] = [scrollX + measurePage().left, scrollY];
  // Fixed elements may extend beyond the page.
  const pageRight = Math.max(own(root).scrollWidth, Math.ceil(box.right + pageX));
  const pageBottom = Math.max(own(root).scrollHeight, Math.ceil(box.bottom + pageY));
  const x = Math.max(0, Math.floor(box.left + pageX - padding));
  const y = Math.max(0, Math.floor(box.top + pageY - padding));
  const right = Math.min(pageRight, Math.ceil(box.right + pageX + padding));
  const bottom = Math.min(pageBottom, Math.ceil(box.bottom + pageY + padding));
  if (right <= x || bottom <= y) return null;
  return { x, y, width: right - x, height: bottom - y };
}
