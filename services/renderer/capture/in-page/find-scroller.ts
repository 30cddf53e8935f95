/// <reference lib="dom" />
import type { PageState } from './page-state.ts';

/**
 * Looks for the element that scrolls the page's content where the document itself does not: an app shell, a body that
 * scrolls by itself. Remembers it and the heights around it for {@link growScroller}.
 *
 * @returns by how much its content is taller than the element, or null when there is no such element
 */
export function findScroller(): number | null {
  /** It holds the page when it takes up this share of the viewport, in width and in height. */
  const leastShare = 0.5;
  const root = document.scrollingElement ?? document.documentElement;
  const rootOverflow = getComputedStyle(document.documentElement).overflowY;
  const rootScrolls = root.scrollHeight > innerHeight + 1 && rootOverflow !== 'hidden';
  if (rootScrolls) return null;

  let largest: Element | undefined;
  let largestArea = 0;
  for (const element of document.querySelectorAll('*')) {
    if (element === root || element.scrollHeight <= element.clientHeight + 1) continue;
    if (element.clientWidth < innerWidth * leastShare || element.clientHeight < innerHeight * leastShare) continue;
    const { overflowY, display } = getComputedStyle(element);
    if ((overflowY !== 'auto' && overflowY !== 'scroll') || display === 'inline') continue;
    const area = element.clientWidth * element.clientHeight;
    if (area <= largestArea) continue;
    largest = element;
    largestArea = area;
  }
  if (largest === undefined) return null;

  const chain: { element: HTMLElement; height: number }[] = [];
  for (let element: Element | null = largest; element !== null; element = element.parentElement) {
    if (!(element instanceof HTMLElement)) continue;
    // In a form, `style` may be a field of that name.
    if (element.style instanceof CSSStyleDeclaration)
      chain.push({ element, height: element.getBoundingClientRect().height });
  }
  (globalThis as PageState).webcaptureScroller = { element: largest, chain };
  return largest.scrollHeight - largest.clientHeight;
}
