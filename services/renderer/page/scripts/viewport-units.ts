/// <reference lib="dom" />
import type { putAt as PutAt, setImportant as SetImportant } from './fixed.ts';
import type { everyElement as EveryElement } from './tree.ts';
import type { own as Own } from './own.ts';

declare const own: typeof Own;
/** Functions that the caller sends to the page together with the functions of this file. */
declare const everyElement: typeof EveryElement;
declare const putAt: typeof PutAt;
declare const setImportant: typeof SetImportant;

/**
 * Replaces values that depend on the height of the viewport by their current values: units such as `vh`, media queries of height and shape,
 * and percentages of the root's height. The reason is that in a print the page is the viewport, and a single page is as tall as the whole
 * content. Style sheets of other origins keep their units, because their rules cannot be read.
 */
export function pinViewport(): void {
  const asksForHeight = /height|orientation|aspect-ratio/;
  const units = /"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|url\([^)]*\)|(-?(?:\d*\.)?\d+)[dls]?(vh|vb|vmin|vmax)\b/gi;
  const sizes: Readonly<Record<string, number>> = {
    vh: innerHeight,
    vb: innerHeight,
    vmin: Math.min(innerWidth, innerHeight),
    vmax: Math.max(innerWidth, innerHeight),
  };
  const inPixels = (css: string) =>
    css.replaceAll(units, (all: string, count: string | undefined, unit: string | undefined) =>
      unit === undefined ? all : `${(Number(count) * (sizes[unit.toLowerCase()] ?? 0)) / 100}px`,
    );
  const pin = (style: CSSStyleDeclaration) => {
    const pinned = inPixels(style.cssText);
    if (pinned !== style.cssText) style.cssText = pinned;
  };
  const freeze = (media: MediaList) => {
    if (asksForHeight.test(media.mediaText)) media.mediaText = matchMedia(media.mediaText).matches ? 'all' : 'not all';
  };
  const visit = (rules: CSSRuleList): void => {
    for (const rule of rules) {
      if (rule instanceof CSSMediaRule || rule instanceof CSSImportRule) freeze(rule.media);
      if (rule instanceof CSSStyleRule || rule instanceof CSSKeyframeRule) pin(rule.style);
      if ('cssRules' in rule) visit(rule.cssRules as CSSRuleList);
      if (rule instanceof CSSImportRule && rule.styleSheet) visitSheet(rule.styleSheet);
    }
  };
  const visitSheet = (sheet: CSSStyleSheet): void => {
    try {
      freeze(sheet.media);
      visit(sheet.cssRules);
    } catch {
      // The sheet is of another origin, so its rules cannot be read.
    }
  };
  /**
   * Fixes heights that depend on the viewport without a viewport unit: percentages of the root's height, and boxes that are placed by the
   * edges of the viewport.
   */
  const pinShare = (element: Element): void => {
    const { position, height } = getComputedStyle(element);
    const { top, height: tall } = own(element).getBoundingClientRect();
    const isShare = own(element).computedStyleMap().get('height')?.toString().includes('%') === true;
    if (element === document.documentElement) {
      if (isShare) setImportant(element, { height });
    } else if (position === 'fixed') {
      putAt(element, top);
      if (isShare) setImportant(element, { height });
    } else if (position === 'absolute' && Math.abs(tall - innerHeight) <= 1)
      setImportant(element, { height, bottom: 'auto' });
  };
  const roots = new Set<Document | ShadowRoot>([document]);
  for (const element of everyElement()) {
    const { shadowRoot } = own(element);
    if (shadowRoot) roots.add(shadowRoot);
    const { style } = own(element as HTMLElement);
    if (style instanceof CSSStyleDeclaration) pin(style);
    pinShare(element);
  }
  for (const root of roots) for (const sheet of [...root.styleSheets, ...root.adoptedStyleSheets]) visitSheet(sheet);
}
