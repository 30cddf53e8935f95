/// <reference lib="dom" />
import type { ParsedSelector, SelectorPart } from '@webcapture/shared/api/selector.ts';
import type {
  assertKnown as AssertKnown,
  enterFrames as EnterFrames,
  openRoots as OpenRoots,
  rememberRoots as RememberRoots,
  selectAll as SelectAll,
} from './selecting.ts';
import type { own as Own } from './own.ts';

declare const own: typeof Own;
/** Functions that the caller sends to the page together with the functions of this file. */
declare const assertKnown: typeof AssertKnown;
declare const enterFrames: typeof EnterFrames;
declare const openRoots: typeof OpenRoots;
declare const rememberRoots: typeof RememberRoots;
declare const selectAll: typeof SelectAll;

/**
 * Adopts style sheets that hide what matches `hide`, and set `display: none` for what matches `remove`. They apply to the documents that
 * the selectors name and to their open shadow roots. The sheets are constructed, because the page's content security policy applies to
 * style elements. Runs in each document before its own scripts.
 */
export function adoptHiding(hide: readonly ParsedSelector[], remove: readonly ParsedSelector[]): void {
  const selectors = [...hide, ...remove];
  // For the content of a frame, only selectors that enter frames apply.
  if (window !== window.top && selectors.every((parts) => parts.length === 1)) return;
  const adopted = Symbol.for('webcapture.hiding');
  const hidden = 'visibility: hidden !important; transition: none !important;';
  const rules = new Map<Document, string[]>();
  const rootsOf = rememberRoots();
  for (const [index, parts] of selectors.entries()) {
    const style = index < hide.length ? `${hidden} * { ${hidden} }` : 'display: none !important';
    const { css } = parts.at(-1) as SelectorPart;
    try {
      for (const each of enterFrames(parts, { start: (window.top as Window).document, rootsOf }).documents) {
        rules.set(each, [...(rules.get(each) ?? []), `${css} { ${style} }`]);
      }
    } catch {
      // If the browser does not support a selector, the capture fails later, when the page has loaded. No selector reaches a frame of
      // another origin.
    }
  }
  for (const [each, texts] of rules) {
    const { defaultView } = each as { defaultView: Window & typeof globalThis };
    const state = each as Document & Record<symbol, { readonly sheet: CSSStyleSheet; readonly text: string }>;
    const text = texts.join('\n');
    const before = state[adopted];
    const sheet = before?.text === text ? before.sheet : new defaultView.CSSStyleSheet();
    if (sheet !== before?.sheet) {
      before?.sheet.replaceSync('');
      for (const rule of texts) sheet.insertRule(rule, sheet.cssRules.length);
      state[adopted] = { sheet, text };
    }
    for (const root of rootsOf(each)) {
      if (!root.adoptedStyleSheets.includes(sheet)) root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
    }
  }
}

/**
 * Hides elements that are visible despite the sheets of {@link adoptHiding}. Causes are an important inline style, a cascade layer, and a
 * selector that crosses a shadow root.
 *
 * @returns the index of the first selector of `hide` and then `remove` that the browser does not support; null if it supports all
 */
export function enforceHiding(hide: readonly ParsedSelector[], remove: readonly ParsedSelector[]): number | null {
  /** Maximum number of elements that are checked. Checking more would take seconds. */
  const maxElements = 20_000;
  const set = (element: Element, property: string, value: string) => {
    const { style } = own(element as Partial<HTMLElement>);
    style?.setProperty('transition', 'none', 'important');
    style?.setProperty(property, value, 'important');
  };
  for (const [index, parts] of [...hide, ...remove].entries()) {
    try {
      assertKnown(parts);
    } catch {
      return index;
    }
  }
  const rootsOf = rememberRoots();
  /** One search finds the elements of all selectors, because separate searches would take seconds. */
  const find = (selectors: readonly ParsedSelector[]): readonly Element[] => {
    const groups = Map.groupBy(selectors, (parts) => JSON.stringify(parts.slice(0, -1)));
    const found = [...groups.values()].flatMap((group) => {
      const lasts = group.flatMap((parts) => parts.slice(-1));
      const css = lasts.map((last) => last.css).join();
      const chains = lasts.flatMap((last) => last.chains);
      return selectAll([...(group[0] as ParsedSelector).slice(0, -1), { css, chains }], { rootsOf }).elements;
    });
    return found.slice(0, maxElements);
  };
  for (const element of find(remove)) {
    if (getComputedStyle(element).display !== 'none') set(element, 'display', 'none');
  }
  const within = (element: Element) => openRoots(element).flatMap((root) => [...own(root).querySelectorAll('*')]);
  const hidden = find(hide).flatMap((element) => [element, ...within(element)]);
  for (const element of hidden.slice(0, maxElements)) {
    if (getComputedStyle(element).visibility !== 'hidden') set(element, 'visibility', 'hidden');
  }
  return null;
}
