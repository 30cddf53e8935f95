/// <reference lib="dom" />
import type { mayStyle as MayStyle } from './styles.ts';
import type { own as Own } from './own.ts';

declare const own: typeof Own;
/** A helper of the call of {@link layOutAll}. */
declare const mayStyle: typeof MayStyle;

/**
 * The elements of the document, with those of its open shadow trees, in their order.
 *
 * @param maxElements looking at more takes seconds, where each is measured
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
 * Lays out boxes that the browser leaves out while they are out of sight (`content-visibility: auto`): the picture shows what is out of
 * sight of the viewport, too.
 */
export function layOutAll(): void {
  if (!mayStyle(['content-visibility'])) return;
  for (const element of everyElement()) {
    if (getComputedStyle(element).contentVisibility !== 'auto') continue;
    if (own(element as HTMLElement).style instanceof CSSStyleDeclaration)
      own(element as HTMLElement).style.setProperty('content-visibility', 'visible', 'important');
  }
}
