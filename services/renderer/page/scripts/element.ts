/// <reference lib="dom" />
import type { isVisible as IsVisible } from './finding.ts';
import type { PageState } from './state.ts';
import type { PageWaits } from './waits.ts';
import type { own as Own } from './own.ts';

declare const waits: PageWaits;
declare const pageState: PageState;
declare const own: typeof Own;
/** A helper of the calls. */
declare const isVisible: typeof IsVisible;

/** A box of the document, in CSS pixels from its top left corner. */
export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/**
 * Scrolls to the first visible element that matches, through boxes that scroll too, and past it where it is larger than the
 * viewport, so that what loads or appears on scrolling is there. Boxes that are too small to show it whole no longer cut it off.
 *
 * @returns whether it is larger than the viewport
 */
export async function scrollToElement(selector: string): Promise<boolean> {
  const observeTimeoutMs = 300;
  const maxSteps = 40;
  const element = [...document.querySelectorAll(selector)].find(isVisible);
  if (element === undefined) return false;
  pageState.webcaptureElement = element;

  /** The share of it that nothing cuts off. */
  const shareInView = async () => {
    const { promise, resolve } = Promise.withResolvers<number>();
    const observer = new IntersectionObserver(([entry]) => resolve(entry?.intersectionRatio ?? 0));
    observer.observe(element);
    const share = await Promise.race([promise, waits.sleep(observeTimeoutMs).then(() => 0)]);
    observer.disconnect();
    return share;
  };
  const scrollTo = (block: ScrollLogicalPosition) =>
    own(element).scrollIntoView({ block, inline: 'nearest', behavior: 'instant' });
  if ((await shareInView()) > 0.99) return false;
  scrollTo('center');

  // The body's own overflow is that of the viewport, unless the root has one.
  const hasRootOverflow = getComputedStyle(document.documentElement).overflow !== 'visible';
  const boxes: HTMLElement[] = [];
  for (let at = own(element).parentElement; at !== null; at = own(at).parentElement) {
    if (at !== document.documentElement && (at !== document.body || hasRootOverflow)) boxes.push(at);
  }
  let hasOpened = false;
  for (const box of boxes) {
    const { overflowX, overflowY, display } = getComputedStyle(box);
    if (overflowX === 'visible' && overflowY === 'visible') continue;
    const [inner, outer] = [own(element).getBoundingClientRect(), own(box).getBoundingClientRect()];
    const isInside =
      inner.top >= outer.top - 1 &&
      inner.left >= outer.left - 1 &&
      inner.bottom <= outer.bottom + 1 &&
      inner.right <= outer.right + 1;
    if (isInside) continue;
    own(box).style.setProperty('overflow', 'visible', 'important');
    // It still holds the margins of what is in it.
    if (display === 'block') own(box).style.setProperty('display', 'flow-root', 'important');
    hasOpened = true;
  }
  if (hasOpened) scrollTo('center');

  const { height, width } = own(element).getBoundingClientRect();
  const isTall = height > innerHeight || width > innerWidth;
  if (!isTall) return false;
  scrollTo('start');
  const top = scrollY;
  for (let step = 1; step <= maxSteps && step * innerHeight < height; step += 1) {
    await waits.untilObserved(observeTimeoutMs);
    window.scrollTo({ top: top + step * innerHeight, behavior: 'instant' });
  }
  await waits.untilObserved(observeTimeoutMs);
  scrollTo('start');
  return true;
}

/**
 * Hides what covers the first visible element that matches, wherever it is scrolled to.
 *
 * @returns where it is, with the padding, but no further than the page goes; null where there is none
 */
export function isolateElement(selector: string, padding: number): (Box & { readonly isBeyondView: boolean }) | null {
  /** Looking at more would take seconds. */
  const maxElements = 20_000;
  const maxViews = 60;
  const known = pageState.webcaptureElement;
  const element =
    known !== undefined && own(known).isConnected && isVisible(known)
      ? known
      : [...document.querySelectorAll(selector)].find((one) => isVisible(one));
  if (element === undefined) return null;

  const hide = (other: Element, property: string, value: string) => {
    if (!(other instanceof HTMLElement || other instanceof SVGElement)) return;
    own(other).style.setProperty('transition', 'none', 'important');
    own(other).style.setProperty(property, value, 'important');
  };
  const isApart = (other: Element) => !own(element).contains(other) && !own(other).contains(element);
  // They lie upon everything, and nothing below them can be hit.
  for (const layer of document.querySelectorAll(':modal, :popover-open')) {
    if (!isApart(layer)) continue;
    hide(layer, 'display', 'none');
    // Hidden or not, a modal dialog keeps everything else from being hit.
    if (layer instanceof HTMLDialogElement) layer.close();
  }

  /** What lets the pointer through covers the element all the same. */
  const sheet = new CSSStyleSheet();
  sheet.replaceSync('*, *::before, *::after { pointer-events: auto !important }');
  document.adoptedStyleSheets.push(sheet);
  const others = [...document.querySelectorAll('body *')].slice(0, maxElements).filter(isApart);
  const hidden = new Set<Element>();

  const coversAt = (other: Element, x: number, y: number) => {
    for (const hit of document.elementsFromPoint(x, y)) {
      if (own(other).contains(hit)) return true;
      if (own(element).contains(hit) || own(hit).contains(element)) return false;
    }
    return false;
  };
  const hideCovers = () => {
    const inner = own(element).getBoundingClientRect();
    const outer = new DOMRect(
      inner.x - padding,
      inner.y - padding,
      inner.width + 2 * padding,
      inner.height + 2 * padding,
    );
    for (const other of others) {
      const { parentElement: parent } = own(other);
      if (parent !== null && hidden.has(parent)) {
        hidden.add(other);
        continue;
      }
      if (hidden.has(other)) continue;
      const its = own(other).getBoundingClientRect();
      // Around the element, neighbours are part of the picture, and what is fixed to the viewport is not.
      const box = padding > 0 && ['fixed', 'sticky'].includes(getComputedStyle(other).position) ? outer : inner;
      const left = Math.max(box.left, its.left, 0);
      const right = Math.min(box.right, its.right, innerWidth);
      const top = Math.max(box.top, its.top, 0);
      const bottom = Math.min(box.bottom, its.bottom, innerHeight);
      if (right - left < 1 || bottom - top < 1) continue;
      const points = [0.5, 0.05, 0.95].flatMap((x) => [0.5, 0.05, 0.95].map((y) => [x, y] as const));
      const covers = points.some(([x, y]) => coversAt(other, left + x * (right - left), top + y * (bottom - top)));
      if (!covers) continue;
      hide(other, 'opacity', '0');
      hidden.add(other);
    }
  };
  const start = { left: scrollX, top: scrollY };
  const { height: tall } = own(element).getBoundingClientRect();
  for (let view = 0; view < maxViews && (view === 0 || view * innerHeight < tall); view += 1) {
    if (view > 0) window.scrollTo({ top: start.top + view * innerHeight, behavior: 'instant' });
    hideCovers();
  }
  window.scrollTo({ ...start, behavior: 'instant' });
  document.adoptedStyleSheets = document.adoptedStyleSheets.filter((one) => one !== sheet);

  const root = document.scrollingElement ?? document.documentElement;
  const box = own(element).getBoundingClientRect();
  // A document from right to left is scrolled to the left of where it begins.
  const isFromRight = getComputedStyle(document.body ?? document.documentElement).direction === 'rtl';
  const offset = isFromRight ? Math.max(0, own(root).scrollWidth - own(root).clientWidth) : 0;
  const [pageX, pageY] = [scrollX + offset, scrollY];
  // What is fixed to the viewport may reach beyond the page.
  const pageRight = Math.max(own(root).scrollWidth, Math.ceil(box.right + pageX));
  const pageBottom = Math.max(own(root).scrollHeight, Math.ceil(box.bottom + pageY));
  const x = Math.max(0, Math.floor(box.left + pageX - padding));
  const y = Math.max(0, Math.floor(box.top + pageY - padding));
  const right = Math.min(pageRight, Math.ceil(box.right + pageX + padding));
  const bottom = Math.min(pageBottom, Math.ceil(box.bottom + pageY + padding));
  const isBeyondView = x < pageX || y < pageY || right > pageX + innerWidth || bottom > pageY + innerHeight;
  if (right <= x || bottom <= y) return null;
  return { x, y, width: right - x, height: bottom - y, isBeyondView };
}
