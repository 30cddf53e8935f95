/// <reference lib="dom" />
import type { PageState } from './state.ts';
import type { PageWaits } from './waits.ts';

declare const waits: PageWaits;

/** Remembers what takes part in the page's flow, and lets what is sticky stand where it belongs. */
export function prepareTiles(): void {
  const flow = new Map<Element, number>();
  for (const element of document.querySelectorAll<HTMLElement>('body *')) {
    const { position } = getComputedStyle(element);
    if (position === 'fixed') continue;
    flow.set(element, element.getBoundingClientRect().top + scrollY);
    if (position !== 'sticky' || !(element.style instanceof CSSStyleDeclaration)) continue;
    element.style.setProperty('position', 'relative', 'important');
    element.style.setProperty('inset', 'auto', 'important');
  }
  (globalThis as PageState).webcaptureTiles = { flow, shown: new Set() };
}

/**
 * Scrolls to a tile, lets what moves there come to rest, and shows fixed elements in one tile only: those at the lower edge
 * of the viewport in the last one, others in the first, what becomes fixed on scrolling where it has not been shown yet.
 * What only is a background stands in each.
 *
 * @param top of the tile, in CSS pixels from the top of the page
 * @param restMs for what moves
 */
export async function showTile(top: number, isLast: boolean, restMs: number): Promise<void> {
  const minBackdrop = 0.9;
  const state = (globalThis as PageState).webcaptureTiles;
  const page = document.scrollingElement ?? document.documentElement;
  const hide = (element: Element, isHidden: boolean) => {
    if (!(element instanceof HTMLElement || element instanceof SVGElement)) return;
    if (isHidden) element.style.setProperty('opacity', '0', 'important');
    else if (element.style.getPropertyPriority('opacity') === 'important') element.style.removeProperty('opacity');
    if (isHidden) element.style.setProperty('transition', 'none', 'important');
  };
  const arrange = () => {
    for (const element of document.querySelectorAll('body *')) {
      if (getComputedStyle(element).position !== 'fixed') continue;
      const box = element.getBoundingClientRect();
      const isTall = box.height >= innerHeight * minBackdrop;
      const natural = state?.flow.get(element);
      if (natural !== undefined) {
        // It stood in the flow before: it is shown there, or in the tile in which it first stands elsewhere.
        const isShown = state?.shown.has(element) === true || natural < top;
        if (!isShown) state?.shown.add(element);
        hide(element, isShown);
        continue;
      }
      const isAtEnd = box.top > innerHeight / 2;
      const isHere = isAtEnd ? isLast : top === 0;
      // Of a sidebar, the background goes on.
      if (isTall)
        for (const child of element.children) hide(child, !isHere && (element.textContent ?? '').trim() !== '');
      else hide(element, !isHere);
    }
  };
  page.scrollTo({ top, behavior: 'instant' });
  await waits.untilFrame(150);
  await waits.untilFrame(150);
  const finish = () => {
    let finished = 0;
    for (const animation of document.getAnimations?.() ?? []) {
      if (!(animation.timeline instanceof DocumentTimeline) || animation.playState !== 'running') continue;
      const end = animation.effect?.getComputedTiming().endTime;
      if (typeof end !== 'number' || !Number.isFinite(end)) continue;
      try {
        animation.finish();
        finished += 1;
      } catch {
        // Its rate is 0.
      }
    }
    return finished;
  };
  const places = () =>
    ((globalThis as PageState).webcaptureSeen?.sample ?? [])
      .map((element) => {
        const { top: at, left } = element.getBoundingClientRect();
        const isNear = at < innerHeight && at > -innerHeight;
        return isNear ? `${Math.round(at)} ${Math.round(left)} ${getComputedStyle(element).opacity}` : '';
      })
      .join();
  const end = performance.now() + restMs;
  for (let seen = places(); performance.now() < end;) {
    finish();
    await waits.untilFrame(100);
    const now = places();
    if (now === seen) break;
    seen = now;
  }
  arrange();
  await waits.untilFrame(150);
}
