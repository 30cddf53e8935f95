/// <reference lib="dom" />
import type { PageState } from './state.ts';
import type { cssMayUse as CssMayUse } from './styles.ts';
import type { everyElement as EveryElement } from './tree.ts';
import type { own as Own } from './own.ts';

declare const own: typeof Own;
declare const pageState: PageState;
/** Functions that the caller sends to the page together with the functions of this file. */
declare const cssMayUse: typeof CssMayUse;
declare const everyElement: typeof EveryElement;

/** Returns the elements that are fixed to the viewport and have a box. */
function fixedElements(): HTMLElement[] {
  // Dialogs, popovers and fullscreen elements are fixed even if no rule of the page says so.
  if (!cssMayUse(['fixed'], 'dialog, [popover], :fullscreen')) return [];
  return everyElement(Number.POSITIVE_INFINITY).filter(
    (element): element is HTMLElement =>
      // In a form, `style` may be a field of that name.
      own(element as HTMLElement).style instanceof CSSStyleDeclaration &&
      getComputedStyle(element).position === 'fixed' &&
      own(element).checkVisibility(),
  );
}

/** Records which elements the styles for the screen fix to the viewport, for {@link noteFixedByPrint}. */
export function noteFixedOnScreen(): void {
  pageState.webcaptureFixedOnScreen = new Set(fixedElements());
}

/**
 * Records which elements only the styles for print fix to the viewport; {@link placeFixedOnce} leaves these on every page. Call it right
 * after the page was laid out for print. The computed position is compared, because it reflects every kind of rule: nested rules, imports,
 * and style sheets that cannot be read.
 */
export function noteFixedByPrint(): void {
  const onScreen = pageState.webcaptureFixedOnScreen;
  pageState.webcaptureFixedByPrint = new Set(fixedElements().filter((element) => onScreen?.has(element) !== true));
}

/**
 * Makes a box that is fixed to the viewport scroll with the page. The box keeps its width and height from before its transform, because the
 * transform still applies.
 *
 * @param place position of the transformed box, in CSS pixels from the top left corner of the page
 */
function putInPage(element: HTMLElement, place: { readonly top: number; readonly left: number }): void {
  const set = (name: string, value: string) => own(element).style.setProperty(name, value, 'important');
  const { width, height } = getComputedStyle(element);
  set('position', 'absolute');
  set('transition', 'none');
  for (const name of ['right', 'bottom']) set(name, 'auto');
  for (const name of ['top', 'left']) set(name, '0px');
  set('width', width);
  set('height', height);
  const at = own(element).getBoundingClientRect();
  set('top', `${place.top - at.top - scrollY}px`);
  set('left', `${place.left - at.left - scrollX}px`);
}

/** Whether the box covers text of the page. */
function hidesText(element: HTMLElement, box: DOMRect): boolean {
  const maxTexts = 400;
  const minOverlap = 4;
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  for (let count = 0; count < maxTexts && texts.nextNode() !== null;) {
    const { currentNode: text } = texts;
    const holder = own(text).parentElement;
    if ((own(text).textContent ?? '').trim() === '' || own(element).contains(text) || !own(holder)?.checkVisibility())
      continue;
    count += 1;
    range.selectNodeContents(text);
    const { left, right, top, bottom } = range.getBoundingClientRect();
    const [from, to] = [Math.max(left, box.left), Math.min(right, box.right)];
    if (to - from < minOverlap) continue;
    if (own(element).contains(document.elementFromPoint((from + to) / 2, (top + bottom) / 2))) return true;
  }
  return false;
}

/** Functions that must be sent to the page together with a function of this file. */
export const printFixedHelpers = [fixedElements, putInPage, hidesText] as const;

/**
 * Makes elements that are fixed to the viewport appear once: at the end of the content if they are in the lower half of the viewport,
 * otherwise at their place on the first page. Two kinds stay on every page: elements that only the styles for print fix, and backgrounds,
 * which contain no text. A sidebar that would cover text is hidden.
 */
export function placeFixedOnce(): void {
  const minBackdrop = 0.9;
  const byPrint = pageState.webcaptureFixedByPrint;
  const end = own(document.scrollingElement ?? document.documentElement).scrollHeight;
  for (const element of fixedElements()) {
    if (!own(element).checkVisibility({ visibilityProperty: true }) || byPrint?.has(element) === true) continue;
    const box = own(element).getBoundingClientRect();
    const covers = box.width >= innerWidth * minBackdrop && box.height >= innerHeight * minBackdrop;
    if (covers && (own(element).innerText ?? '').trim() === '') continue;
    const isOutside = box.left >= innerWidth - 1 || box.right <= 1 || box.bottom <= 1 || box.top >= innerHeight - 1;
    const isSidebar = box.height >= innerHeight * minBackdrop && box.width < innerWidth * minBackdrop;
    if (isOutside || (isSidebar && hidesText(element, box))) {
      // Two kinds are hidden: an element outside the viewport would widen the paper, and paper is too narrow for a sidebar next to the
      // text.
      own(element).style.setProperty('display', 'none', 'important');
      continue;
    }
    const hangs = box.top > innerHeight / 2;
    putInPage(element, { top: hangs ? Math.max(end, box.top) : box.top + scrollY, left: box.left + scrollX });
  }
}
