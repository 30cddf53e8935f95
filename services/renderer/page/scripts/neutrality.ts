/// <reference lib="dom" />
import type { PageState } from './state.ts';
import type { own as Own } from './own.ts';

declare const own: typeof Own;
declare const pageState: PageState;

/** Remembers where panes stand that scroll by themselves: at the top of the page, before its viewport grows. */
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

/** Puts panes back to where the page had them. */
export function restorePanes(): void {
  for (const { element, top, isAtEnd } of pageState.webcapturePanes ?? []) {
    const wanted = isAtEnd ? own(element).scrollHeight - own(element).clientHeight : top;
    if (Math.abs(own(element).scrollTop - wanted) > 1) own(element).scrollTo({ top: wanted, behavior: 'instant' });
  }
}

/**
 * Lets {@link hideResizes} keep `resize` from the page. Runs before the page's own scripts: of the listeners of a window,
 * those that were there first are called first.
 */
export function interceptResizes(): void {
  addEventListener('resize', (event) => {
    if (pageState.webcaptureHidesResizes === true) event.stopImmediatePropagation();
  });
}

/** Keeps `resize` from the page from now on: a person who looks at it never resizes the window. */
export function hideResizes(): void {
  pageState.webcaptureHidesResizes = true;
}

/**
 * Leaves full screen and picture-in-picture as soon as a page enters them, as a person does with the Escape key. Runs before the page's own
 * scripts.
 */
export function stayInWindow(): void {
  const leave = (exit: 'exitFullscreen' | 'exitPictureInPicture') =>
    void Document.prototype[exit].call(document).catch(() => undefined);
  for (const event of ['fullscreenchange', 'webkitfullscreenchange'])
    addEventListener(event, () => leave('exitFullscreen'), true);
  addEventListener('enterpictureinpicture', () => leave('exitPictureInPicture'), true);
}
