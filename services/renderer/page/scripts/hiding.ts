/// <reference lib="dom" />
import type { PageState } from './state.ts';
import type { own as Own } from './own.ts';

declare const own: typeof Own;
declare const pageState: PageState;

/**
 * Adopts a style sheet that hides what matches `hide` and takes what matches `remove` out of the flow. (The page's content security
 * policy applies to style elements, not to constructed sheets.) Runs before the page's own scripts, and in its main document only.
 */
export function adoptHiding(hide: readonly string[], remove: readonly string[]): void {
  if (window !== window.top) return;
  const state = pageState;
  if (state.webcaptureHiding !== undefined && document.adoptedStyleSheets.includes(state.webcaptureHiding)) return;
  const sheet = new CSSStyleSheet();
  const add = (selector: string, style: string) => {
    try {
      sheet.insertRule(`${selector} { ${style} }`);
    } catch {
      // One that the browser refuses fails the capture when the page is there.
    }
  };
  const hidden = 'visibility: hidden !important; transition: none !important;';
  for (const selector of hide) add(selector, `${hidden} * { ${hidden} }`);
  for (const selector of remove) add(selector, 'display: none !important');
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  state.webcaptureHiding = sheet;
}

/**
 * Hides what a page shows in spite of the sheet of {@link adoptHiding}: with an important style of the element's own, or in a
 * cascade layer.
 *
 * @returns the first selector that the browser does not take; null where there is none
 */
export function enforceHiding(hide: readonly string[], remove: readonly string[]): string | null {
  /** Looking at more would take seconds. */
  const maxElements = 20_000;
  const find = (selector: string) => [...document.querySelectorAll<HTMLElement>(selector)].slice(0, maxElements);
  const set = (element: Element, property: string, value: string) => {
    if (!(element instanceof HTMLElement || element instanceof SVGElement)) return;
    own(element).style.setProperty('transition', 'none', 'important');
    own(element).style.setProperty(property, value, 'important');
  };
  for (const selector of [...hide, ...remove]) {
    try {
      document.querySelector(selector);
    } catch {
      return selector;
    }
  }
  for (const element of remove.flatMap(find)) {
    if (getComputedStyle(element).display !== 'none') set(element, 'display', 'none');
  }
  const hidden = hide.flatMap(find).flatMap((element) => [element, ...own(element).querySelectorAll('*')]);
  for (const element of hidden.slice(0, maxElements)) {
    if (getComputedStyle(element).visibility !== 'hidden') set(element, 'visibility', 'hidden');
  }
  return null;
}
