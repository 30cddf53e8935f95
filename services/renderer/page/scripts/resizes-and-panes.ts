/// <reference lib="dom" />
import type { PageState } from './state.ts';
import type { own as Own } from './own.ts';

declare const own: typeof Own;
declare const pageState: PageState;

/** Remembers the scroll positions of scroll containers. Call it at the top of the page, before the viewport grows. */
export function rememberPanes(): void {
  const roots: (Element | null | undefined)[] = [
    document.documentElement,
    document.scrollingElement,
    pageState.webcaptureScroller?.scrolled,
  ];
  pageState.webcapturePanes = [...document.querySelectorAll('*')]
    .filter((element) => own(element).scrollTop > 0 && !roots.includes(element))
    .map((element) => ({
      element,
      top: own(element).scrollTop,
      isAtEnd: own(element).scrollTop >= own(element).scrollHeight - own(element).clientHeight - 1,
    }));
}

/** Restores the scroll positions from {@link rememberPanes}. */
export function restorePanes(): void {
  for (const { element, top, isAtEnd } of pageState.webcapturePanes ?? []) {
    const wanted = isAtEnd ? own(element).scrollHeight : top;
    if (Math.abs(own(element).scrollTop - wanted) > 1) own(element).scrollTo({ top: wanted, behavior: 'instant' });
  }
}

/**
 * Prepares {@link hideResizes}, which hides `resize` events from the page. Must run before the page's scripts, because a window calls its
 * listeners in the order of registration.
 */
export function interceptResizes(): void {
  addEventListener('resize', (event) => {
    if (pageState.webcaptureHidesResizes === true) event.stopImmediatePropagation();
  });
}

/** Hides `resize` events from the page from now on, because a visitor would not resize the window. */
export function hideResizes(): void {
  pageState.webcaptureHidesResizes = true;
}

/**
 * Leaves full screen and picture-in-picture as soon as a page enters them, as a visitor can with the Escape key. Runs before the page's
 * scripts.
 */
export function stayInWindow(): void {
  const leave = (exit: 'exitFullscreen' | 'exitPictureInPicture') =>
    void Document.prototype[exit].call(document).catch(() => undefined);
  for (const event of ['fullscreenchange', 'webkitfullscreenchange'])
    addEventListener(event, () => leave('exitFullscreen'), true);
  addEventListener('enterpictureinpicture', () => leave('exitPictureInPicture'), true);
}
