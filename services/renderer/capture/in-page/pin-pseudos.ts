/// <reference lib="dom" />
import type { PageState } from './page-state.ts';

/**
 * Does for `::before` and `::after` what {@link pinSizes} does for elements. They have no style of their own to set: a
 * stylesheet names their elements by a mark.
 *
 * @param properties those that were remembered
 * @returns how many pseudo-elements were changed
 */
export function pinPseudos(properties: readonly string[]): number {
  const sizes = (globalThis as PageState).webcaptureSizes;
  if (sizes === undefined || sizes.viewHeight === innerHeight) return 0;
  const mark = 'data-webcapture-pinned';
  const { viewHeight, pseudos } = sizes;
  const grown = innerHeight - viewHeight;
  const pins: { element: HTMLElement; pseudo: string; rules: string[] }[] = [];

  for (const { element, pseudo, values } of pseudos) {
    const style = getComputedStyle(element, `::${pseudo}`);
    const rules: string[] = [];
    properties.forEach((property, index) => {
      const before = Number.parseFloat(values[index] ?? '');
      const after = Number.parseFloat(style.getPropertyValue(property));
      // Used values change with everything around them: only what changed just as the viewport did followed it.
      const asMuch = Math.abs(after - before - grown) <= 1;
      const inStep = before > 0 && Math.abs(after / before / (innerHeight / viewHeight) - 1) < 0.02;
      if (asMuch || inStep) rules.push(`${property}: ${before}px !important;`);
    });
    const height = Number.parseFloat(values[properties.indexOf('height')] ?? '');
    if (style.backgroundAttachment.includes('fixed') && height <= viewHeight + 1) {
      rules.push('background-attachment: scroll !important;');
    }
    if (rules.length > 0) pins.push({ element, pseudo, rules });
  }

  const sheets = new Map<Document | ShadowRoot, CSSStyleSheet>();
  pins.forEach(({ element, pseudo, rules }) => {
    const root = element.getRootNode();
    if (!(root instanceof Document || root instanceof ShadowRoot)) return;
    let sheet = sheets.get(root);
    if (sheet === undefined) {
      sheet = new CSSStyleSheet();
      sheets.set(root, sheet);
      root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
    }
    if (!element.hasAttribute(mark))
      element.setAttribute(mark, `${pseudos.findIndex((one) => one.element === element)}`);
    const selector = `[${mark}="${element.getAttribute(mark)}"]`;
    sheet.insertRule(`${selector}${selector}::${pseudo} { ${rules.join(' ')} }`);
  });
  (globalThis as PageState).webcaptureMotion?.observer.takeRecords();
  return pins.length;
}
