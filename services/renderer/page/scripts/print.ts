/// <reference lib="dom" />
import type { scriptsHaveEnded as ScriptsHaveEnded } from './activity.ts';
import type { mayStyle as MayStyle } from './styles.ts';
import type { own as Own } from './own.ts';

declare const own: typeof Own;

/** Helpers of the calls. */
declare const scriptsHaveEnded: typeof ScriptsHaveEnded;
declare const mayStyle: typeof MayStyle;

/**
 * Whether nothing in the page can hear that it is laid out anew, scrolled or brought into sight: it has no scripts but such that have come
 * to an end, and no frames, nor images that are chosen by its size, nor parts that are left out as long as they are out of sight. What
 * such a page shows on paper is there.
 */
export function isInert(): boolean {
  if (!scriptsHaveEnded()) {
    if (document.scripts.length > 0 || document.querySelector('canvas') !== null) return false;
    // Scripts that have taken themselves out of the document.
    const wasScripted = performance
      .getEntriesByType('resource')
      .some((entry) => (entry as PerformanceResourceTiming).initiatorType === 'script');
    if (wasScripted) return false;
  }
  const hearing = 'iframe, frame, object, embed, picture, img[srcset], img[sizes], video, audio, animate, set';
  if (document.querySelector(hearing) !== null) return false;
  const handlers = new XPathEvaluator().evaluate('//@*[starts-with(local-name(), "on")]', document, null, 9);
  const hasHandler = handlers.singleNodeValue !== null;
  return !hasHandler && !mayStyle(['content-visibility', 'animation', 'transition', '@container'], 'details');
}

/**
 * Overrules what the page's own rules say of paper and margins and, for a single page, of page breaks. A constructed
 * style sheet comes after all others, and no policy of the page forbids it.
 *
 * @param margin in millimetres; null to keep the margins of the page's rules
 * @param keepsPageSize the size of paper that the page's rules ask for holds
 */
export function usePaperAskedFor(
  margin: Readonly<Record<'top' | 'right' | 'bottom' | 'left', number>> | null,
  isSinglePage: boolean,
  keepsPageSize: boolean,
): void {
  const size = keepsPageSize ? '' : 'size: auto !important;';
  const margins = margin && `margin: ${margin.top}mm ${margin.right}mm ${margin.bottom}mm ${margin.left}mm !important`;
  const rules = [`@page { ${size} ${margins ?? ''} }`];
  if (isSinglePage) {
    // Two parts of which one asks for a kind of page of its own are on two pages.
    rules.push(
      '*, ::before, ::after { break-before: auto !important; break-after: auto !important; page: auto !important }',
    );
  }
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(rules.join('\n'));
  document.adoptedStyleSheets.push(sheet);
}

/**
 * Keeps the dark color scheme of a page that supports it. Chromium uses the light one for `color-scheme` and `light-dark()` when it
 * prints, although `prefers-color-scheme` matches dark.
 */
export function keepDarkScheme(): void {
  const meta = document.querySelector<HTMLMetaElement>('meta[name="color-scheme" i]');
  const supported = `${getComputedStyle(document.documentElement).colorScheme} ${meta?.content ?? ''}`;
  if (!/\bdark\b/.test(supported)) return;
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(':root { color-scheme: dark !important }');
  document.adoptedStyleSheets.push(sheet);
}

/**
 * Lets what is fixed to the viewport stand once, and not on every page: where it is on the first one, or at the end of the
 * content when it hangs at the lower edge. What the page's rules for paper fix themselves stays on every page, and so do
 * backgrounds, which hold nothing to read. A sidebar that would lie upon the text is left out.
 */
export function placeFixedOnce(): void {
  const minBackdrop = 0.9;
  const maxTexts = 400;
  const minOverlap = 4;
  // What lies upon the page without a rule of its own that says so.
  if (!mayStyle(['fixed'], 'dialog, [popover], :fullscreen')) return;
  const chosen: string[] = [];
  const collect = (rules: CSSRuleList, isForPrint: boolean): void => {
    for (const rule of rules) {
      if (rule instanceof CSSStyleRule && isForPrint && rule.style.position === 'fixed') chosen.push(rule.selectorText);
      const isPrint = isForPrint || (rule instanceof CSSMediaRule && /\bprint\b/.test(rule.media.mediaText));
      if ('cssRules' in rule) collect(rule.cssRules as CSSRuleList, isPrint);
    }
  };
  for (const sheet of document.styleSheets) {
    try {
      collect(sheet.cssRules, /\bprint\b/.test(sheet.media.mediaText));
    } catch {
      // Of another origin.
    }
  }
  const isChosen = (element: Element) =>
    chosen.some((selector) => {
      try {
        return own(element).matches(selector);
      } catch {
        return false;
      }
    });
  /** Whether text of the page lies under the box. */
  const hidesText = (element: HTMLElement, box: DOMRect) => {
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
  };
  const end = own(document.scrollingElement ?? document.documentElement).scrollHeight;
  for (const element of document.querySelectorAll<HTMLElement>('body *')) {
    // In a form, `style` may be a field of that name.
    if (!(own(element).style instanceof CSSStyleDeclaration) || getComputedStyle(element).position !== 'fixed')
      continue;
    if (!own(element).checkVisibility({ visibilityProperty: true }) || isChosen(element)) continue;
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
    const wanted = { top: hangs ? Math.max(end, box.top) : box.top + scrollY, left: box.left };
    const set = (name: string, value: string) => own(element).style.setProperty(name, value, 'important');
    set('position', 'absolute');
    set('transition', 'none');
    for (const name of ['right', 'bottom']) set(name, 'auto');
    for (const name of ['top', 'left']) set(name, '0px');
    set('box-sizing', 'border-box');
    for (const name of ['height', 'width'] as const) set(name, `${box[name]}px`);
    const at = own(element).getBoundingClientRect();
    set('top', `${wanted.top - at.top - scrollY}px`);
    set('left', `${wanted.left - at.left}px`);
  }
}

/**
 * Makes every WebGL canvas keep what it has drawn: else it is empty once it has been shown, and blank on paper. Its
 * source runs in the page before its own scripts.
 */
export function keepDrawings(): void {
  for (const { prototype } of [HTMLCanvasElement, OffscreenCanvas]) {
    prototype.getContext = new Proxy(prototype.getContext, {
      apply: (getContext, canvas, [kind, attributes]: [unknown, object?]) =>
        Reflect.apply<unknown, unknown[], unknown>(
          getContext as never,
          canvas,
          /webgl/.test(String(kind)) ? [kind, { ...attributes, preserveDrawingBuffer: true }] : [kind, attributes],
        ),
    });
  }
}
