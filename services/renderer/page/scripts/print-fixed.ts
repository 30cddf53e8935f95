/// <reference lib="dom" />
import type { PageState } from './state.ts';
import type { mayStyle as MayStyle } from './styles.ts';
import type { everyElement as EveryElement } from './tree.ts';
import type { own as Own } from './own.ts';

declare const own: typeof Own;
declare const pageState: PageState;
/** Helpers of the calls from other files. */
declare const mayStyle: typeof MayStyle;
declare const everyElement: typeof EveryElement;

/** Returns the elements that are fixed to the viewport and have a box. */
function fixedElements(): HTMLElement[] {
  // What lies upon the page without a rule of its own that says so.
  if (!mayStyle(['fixed'], 'dialog, [popover], :fullscreen')) return [];
  return everyElement(Number.POSITIVE_INFINITY).filter(
    (element): element is HTMLElement =>
      // In a form, `style` may be a field of that name.
      own(element as HTMLElement).style instanceof CSSStyleDeclaration &&
      getComputedStyle(element).position === 'fixed' &&
      own(element).checkVisibility(),
  );
}

/** Notes which elements are fixed to the viewport by the styles for the screen, for {@link noteFixedByPrint}. */
export function noteFixedOnScreen(): void {
  pageState.webcaptureFixedOnScreen = new Set(fixedElements());
}

/**
 * Notes which elements only the styles for print fix, right after the page was laid out for print: {@link placeFixedOnce} leaves them on
 * every page. The computed position tells it whatever rule sets it: a nested or imported one, or one of a style sheet that cannot be read.
 */
export function noteFixedByPrint(): void {
  const onScreen = pageState.webcaptureFixedOnScreen;
  pageState.webcaptureFixedByPrint = new Set(fixedElements().filter((element) => onScreen?.has(element) !== true));
}

/**
 * Takes a box out of the viewport to which it is fixed, and puts it at a place in the page. Its size stays: as the styles have it, since a
 * transform applies to the box at its place, too.
 *
 * @param place of the box as it is seen, in CSS pixels from the top left corner of the page
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

/** Whether text of the page lies under the box. */
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

/** The helpers of the calls of this file's functions from this file. */
export const printFixedHelpers = [fixedElements, putInPage, hidesText] as const;

/**
 * Lets what is fixed to the viewport appear once, and not on every page: where it is on the first one, or at the end of the
 * content when it hangs at the lower edge. What only the styles for print fix stays on every page, and so do backgrounds, which
 * hold nothing to read. A sidebar that would lie upon the text is left out.
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
    const isBeside = box.left >= innerWidth - 1 || box.right <= 1 || box.bottom <= 1 || box.top >= innerHeight - 1;
    const isSidebar = box.height >= innerHeight * minBackdrop && box.width < innerWidth * minBackdrop;
    if (isBeside || (isSidebar && hidesText(element, box))) {
      // It waits beside the screen, and would widen the paper; or paper is too narrow for it and what it would lie upon.
      own(element).style.setProperty('display', 'none', 'important');
      continue;
    }
    const hangs = box.top > innerHeight / 2;
    putInPage(element, { top: hangs ? Math.max(end, box.top) : box.top + scrollY, left: box.left + scrollX });
  }
}
