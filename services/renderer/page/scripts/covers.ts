/// <reference lib="dom" />
import type { boxOf as BoxOf, hitsAt as HitsAt, Level } from './boxes.ts';
import type { drawnParent as DrawnParent, holds as Holds, openRoots as OpenRoots } from './selecting.ts';
import type { own as Own } from './own.ts';

declare const own: typeof Own;
/** Functions that the caller sends to the page together with the functions of this file. */
declare const boxOf: typeof BoxOf;
declare const drawnParent: typeof DrawnParent;
declare const hitsAt: typeof HitsAt;
declare const holds: typeof Holds;
declare const openRoots: typeof OpenRoots;

/**
 * Removes the clipping of scroll containers that are too small to show the whole target.
 *
 * @returns whether there were any
 */
export function openBoxes({ document: shown, target }: Level): boolean {
  // The overflow of the body applies to the viewport, unless the root has an overflow of its own.
  const hasRootOverflow = getComputedStyle(shown.documentElement).overflow !== 'visible';
  let hasOpened = false;
  for (let box = drawnParent(target); box !== null; box = drawnParent(box)) {
    if (box === shown.documentElement || (box === shown.body && !hasRootOverflow)) continue;
    const { overflowX, overflowY, display } = getComputedStyle(box);
    if (overflowX === 'visible' && overflowY === 'visible') continue;
    const [inner, outer] = [boxOf(target), own(box).getBoundingClientRect()];
    const isInside =
      inner.top >= outer.top - 1 &&
      inner.left >= outer.left - 1 &&
      inner.bottom <= outer.bottom + 1 &&
      inner.right <= outer.right + 1;
    if (isInside) continue;
    own(box as HTMLElement).style.setProperty('overflow', 'visible', 'important');
    // Margins inside the box must not collapse through it.
    if (display === 'block') own(box as HTMLElement).style.setProperty('display', 'flow-root', 'important');
    hasOpened = true;
  }
  return hasOpened;
}

/**
 * Hides elements that cover the target in its document. The target is checked at several scroll positions.
 *
 * @param boxNow returns the current box of the captured region, in the viewport of the document
 */
export function clearView({ document: shown, view, target }: Level, boxNow: () => DOMRect, padding: number): void {
  /** Maximum number of checked elements. Checking more would take seconds. */
  const maxElements = 20_000;
  /** Maximum number of scroll positions at which the target is checked, one viewport apart. */
  const maxViews = 60;
  const hide = (other: Element, property: string, value: string) => {
    const { style } = own(other as Partial<HTMLElement>);
    style?.setProperty('transition', 'none', 'important');
    style?.setProperty(property, value, 'important');
  };
  const around = new Set<Element>();
  for (let at: Element | null = target; at !== null; at = drawnParent(at)) around.add(at);
  const isApart = (other: Element) => !around.has(other) && !holds(target, other);
  const roots = openRoots(shown);
  // Elements in the top layer cover everything, and hit tests find nothing below them.
  for (const layer of roots.flatMap((root) => [...root.querySelectorAll(':modal, :popover-open')])) {
    if (!isApart(layer)) continue;
    hide(layer, 'display', 'none');
    // An open modal dialog keeps hit tests from finding other elements, even if the dialog is hidden.
    if (own(layer).localName === 'dialog') own(layer as HTMLDialogElement).close();
  }

  /** Elements with `pointer-events: none` cover the target too. The sheet makes hit tests find them. */
  const sheet = new (view as Window & typeof globalThis).CSSStyleSheet();
  sheet.replaceSync('*, *::before, *::after { pointer-events: auto !important }');
  for (const root of roots) root.adoptedStyleSheets.push(sheet);
  const others = roots
    .flatMap((root) => [...root.querySelectorAll('*')])
    .slice(0, maxElements)
    .filter(isApart);
  const hidden = new Set<Element>();

  const coversAt = (other: Element, x: number, y: number) => {
    for (const hit of hitsAt(shown, x, y)) {
      if (holds(other, hit)) return true;
      if (around.has(hit) || holds(target, hit)) return false;
    }
    return false;
  };
  const hideCovers = () => {
    const inner = boxNow();
    const outer = new DOMRect(
      inner.x - padding,
      inner.y - padding,
      inner.width + 2 * padding,
      inner.height + 2 * padding,
    );
    for (const other of others) {
      const parent = drawnParent(other);
      if (parent !== null && hidden.has(parent)) {
        hidden.add(other);
        continue;
      }
      const its = own(other).getBoundingClientRect();
      // In the padding, neighbors belong to the picture, but fixed and sticky elements do not.
      const box = padding > 0 && ['fixed', 'sticky'].includes(getComputedStyle(other).position) ? outer : inner;
      const left = Math.max(box.left, its.left, 0);
      const right = Math.min(box.right, its.right, view.innerWidth);
      const top = Math.max(box.top, its.top, 0);
      const bottom = Math.min(box.bottom, its.bottom, view.innerHeight);
      if (right - left < 1 || bottom - top < 1) continue;
      const points = [0.5, 0.05, 0.95].flatMap((x) => [0.5, 0.05, 0.95].map((y) => [x, y] as const));
      const covers = points.some(([x, y]) => coversAt(other, left + x * (right - left), top + y * (bottom - top)));
      if (!covers) continue;
      hide(other, 'opacity', '0');
      hidden.add(other);
    }
  };
  const start = { left: view.scrollX, top: view.scrollY };
  const { height: tall } = boxNow();
  for (let at = 0; at < maxViews && (at === 0 || at * view.innerHeight < tall); at += 1) {
    if (at > 0) view.scrollTo({ top: start.top + at * view.innerHeight, behavior: 'instant' });
    hideCovers();
  }
  view.scrollTo({ ...start, behavior: 'instant' });
  for (const root of roots) root.adoptedStyleSheets = root.adoptedStyleSheets.filter((one) => one !== sheet);
}
