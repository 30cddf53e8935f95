/// <reference lib="dom" />
import type { PageState, RememberedPseudo, RememberedSize } from './page-state.ts';

/**
 * Remembers the sizes that may depend on the height of the viewport, for {@link pinSizes} once that has grown; in open
 * shadow trees too. Not of what is fixed to the viewport: a fixed background is to cover the whole picture. Where a
 * scroller holds the page, only of what is inside of it: what stands around it grows with it.
 *
 * Backgrounds that are attached to the viewport are drawn in their own element from now on, where that is no taller than
 * the viewport: they would be stretched with it.
 */
export function rememberSizes(properties: readonly string[]): void {
  /** Looking at more would take seconds. */
  const mostElements = 20_000;
  const state = globalThis as PageState;
  const fixed = new Set<Element>();
  const elements: RememberedSize[] = [];
  const pseudos: RememberedPseudo[] = [];
  const attached: HTMLElement[] = [];

  /** Asking for a value takes time. */
  const applies = (property: string, display: string): boolean => {
    if (property.startsWith('grid')) return display.endsWith('grid');
    return display !== 'inline' || property === 'font-size';
  };

  const visit = (root: ParentNode): void => {
    const all = root.querySelectorAll<HTMLElement>('*');
    for (let index = 0; index < all.length && elements.length < mostElements; index += 1) {
      const element = all[index];
      // In a form, `style` may be a field of that name.
      if (!(element?.style instanceof CSSStyleDeclaration)) continue;
      const style = getComputedStyle(element);
      const { parentElement: parent } = element;
      if ((parent !== null && fixed.has(parent)) || style.position === 'fixed') {
        fixed.add(element);
        continue;
      }
      if (element.shadowRoot) visit(element.shadowRoot);
      const inline = style.display === 'inline';
      const { height } = element.getBoundingClientRect();
      if (style.backgroundAttachment.includes('fixed') && height <= innerHeight + 1) attached.push(element);
      const computed = element.computedStyleMap();
      elements.push({
        element,
        height,
        classes: element.className,
        values: properties.map((property) =>
          applies(property, style.display) ? (computed.get(property)?.toString() ?? '') : '',
        ),
      });
      if (inline) continue;
      for (const pseudo of ['before', 'after'] as const) {
        const its = getComputedStyle(element, `::${pseudo}`);
        if (its.content === 'none' || its.content === 'normal' || its.position === 'fixed') continue;
        pseudos.push({ element, pseudo, values: properties.map((property) => its.getPropertyValue(property)) });
      }
    }
  };
  visit(state.webcaptureScroller?.element ?? document);
  for (const element of attached) {
    // The backgrounds of these two are those of the whole page.
    if (element === document.documentElement || element === document.body) continue;
    element.style.setProperty('background-attachment', 'scroll', 'important');
  }
  state.webcaptureMotion?.observer.takeRecords();
  state.webcaptureSizes = { viewHeight: innerHeight, elements, pseudos };
}
