/// <reference lib="dom" />
import type { cssMayUse as CssMayUse } from './styles.ts';
import type { own as Own } from './own.ts';

declare const own: typeof Own;
/** A function that the caller sends to the page together with {@link layOutAll}. */
declare const cssMayUse: typeof CssMayUse;

/**
 * Returns the elements of the document and its open shadow roots, in tree order.
 *
 * @param maxElements limit, because measuring more elements takes seconds
 */
export function everyElement(maxElements = 20_000): Element[] {
  const found: Element[] = [];
  const visit = (root: Document | ShadowRoot): void => {
    for (const element of root.querySelectorAll('*')) {
      if (found.length === maxElements) return;
      found.push(element);
      const { shadowRoot } = own(element);
      if (shadowRoot) visit(shadowRoot);
    }
  };
  visit(document);
  return found;
}

/**
 * Makes the browser lay out boxes that it skips while they are out of view (`content-visibility: auto`), because the picture includes
 * them.
 */
export function layOutAll(): void {
  if (!cssMayUse(['content-visibility'])) return;
  for (const element of everyElement()) {
    if (getComputedStyle(element).contentVisibility !== 'auto') continue;
    if (own(element as HTMLElement).style instanceof CSSStyleDeclaration)
      own(element as HTMLElement).style.setProperty('content-visibility', 'visible', 'important');
  }
}
