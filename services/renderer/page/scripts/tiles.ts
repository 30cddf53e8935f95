/// <reference lib="dom" />
import type { finishAnimations as FinishAnimations } from './animations.ts';
import type { PageState, Place } from './state.ts';
import type { PageWaits } from './waits.ts';
import type { own as Own } from './own.ts';

declare const waits: PageWaits;
declare const pageState: PageState;
declare const own: typeof Own;
/** A helper of the call. */
declare const finishAnimations: typeof FinishAnimations;

/** Remembers what takes part in the page's flow, and lets what is sticky stand where it belongs. */
export function prepareTiles(): void {
  const mark = 'data-webcapture-sticky';
  const flow = new Map<Element, Place>();
  const fixedAtTop = new Set<Element>();
  const isSeen = (element: Element) => {
    const { top, bottom } = own(element).getBoundingClientRect();
    const isVisible = own(element).checkVisibility({ opacityProperty: true, visibilityProperty: true });
    return isVisible && top < innerHeight && bottom > 0;
  };
  for (const element of document.querySelectorAll<HTMLElement>('body *')) {
    const { position } = getComputedStyle(element);
    if (position === 'fixed') {
      if (isSeen(element)) fixedAtTop.add(element);
      continue;
    }
    const { top, left, width } = own(element).getBoundingClientRect();
    flow.set(element, { top: top + scrollY, left, width });
    if (position === 'sticky') own(element).setAttribute(mark, '');
  }
  // Scripts that lead them set their styles again and again: a rule that is important stands above those.
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(`[${mark}] { position: relative !important; inset: auto !important }`);
  document.adoptedStyleSheets.push(sheet);
  pageState.webcaptureTiles = { flow, fixedAtTop, shown: new Set() };
}

/**
 * Scrolls to a tile, lets what moves there come to rest, and shows fixed elements in one tile only: those at the lower edge
 * of the viewport in the last one, others in the first. Scenes stand in each as they do there. What becomes fixed on scrolling stays where it belongs in the page,
 * and what only is a background stands in each tile.
 *
 * @param top of the tile, in CSS pixels from the top of the page
 * @param restMs for what moves
 */
export async function showTile(top: number, isLast: boolean, restMs: number): Promise<void> {
  /** Of the viewport's height: what is fixed and as tall as this is a background. */
  const minBackdrop = 0.9;
  /** Of the viewport: what comes in later and covers less is a button, and is left out. */
  const minLate = 0.02;
  /** A page that is not drawn has no frames; a busy machine is late with them. */
  const frameTimeoutMs = 1000;
  /** What is changed over and over for longer than this has no end to wait for. */
  const maxRowMs = 1000;
  /** However late a busy machine is. */
  const minRounds = 3;
  const { webcaptureTiles: state, webcaptureMotion, webcaptureScenes: scenes = [] } = pageState;
  const page = document.scrollingElement ?? document.documentElement;
  const hide = (element: Element, isHidden: boolean) => {
    if (!(element instanceof HTMLElement || element instanceof SVGElement)) return;
    if (isHidden) own(element).style.setProperty('opacity', '0', 'important');
    else if (own(element).style.getPropertyPriority('opacity') === 'important')
      own(element).style.removeProperty('opacity');
    if (isHidden) own(element).style.setProperty('transition', 'none', 'important');
  };
  /** What stood in the flow before stands there again, in each tile: what follows it keeps the place that its script left. */
  const putBack = (element: Element, { top: wantedTop, left: wantedLeft, width }: Place) => {
    if (!(element instanceof HTMLElement)) return;
    const set = (name: string, value: string) => own(element).style.setProperty(name, value, 'important');
    for (const [name, value] of Object.entries({
      position: 'absolute',
      bottom: 'auto',
      right: 'auto',
      transition: 'none',
    }))
      set(name, value);
    for (const name of ['top', 'left']) set(name, '0px');
    set('width', `${width}px`);
    const { top: at, left } = own(element).getBoundingClientRect();
    set('top', `${wantedTop - (at + scrollY)}px`);
    set('left', `${wantedLeft - left}px`);
  };
  /** What comes in on the way, and is no small button, is shown where it is first seen. */
  const comesLater = (element: Element, { width, height }: DOMRect) =>
    state?.fixedAtTop.has(element) === false && width * height > innerWidth * innerHeight * minLate;
  const isNew = (element: Element, box: DOMRect) => {
    const isInSight = box.top < innerHeight && box.bottom > 0 && Number(getComputedStyle(element).opacity) > 0.5;
    if (!isInSight || state?.shown.has(element) === true) return false;
    state?.shown.add(element);
    return true;
  };
  const isScene = (element: Element) =>
    scenes.some((scene) => own(element).contains(scene.element) || own(scene.element).contains(element));
  const arrange = () => {
    for (const element of document.querySelectorAll('body *')) {
      if (getComputedStyle(element).position !== 'fixed' || isScene(element)) continue;
      const box = own(element).getBoundingClientRect();
      const isTall = box.height >= innerHeight * minBackdrop;
      const natural = state?.flow.get(element);
      if (natural !== undefined) {
        putBack(element, natural);
        continue;
      }
      const isAtEnd = box.top > innerHeight / 2;
      const isHere = comesLater(element, box) ? isNew(element, box) : isAtEnd ? isLast : top === 0;
      // Of a sidebar, the background goes on.
      if (isTall)
        for (const child of own(element).children)
          hide(child, !isHere && (own(element).textContent ?? '').trim() !== '');
      else hide(element, !isHere);
    }
  };
  /** What scripts have changed since: not what they have been changing for ever. */
  const hasChangedSince = (time: number) =>
    [...(webcaptureMotion?.nodes.values() ?? [])].some(({ since, last }) => last >= time && last - since < maxRowMs);
  const start = performance.now();
  own(page).scrollTo({ top, behavior: 'instant' });
  // Scripts hear of the new place with the next frame. What they begin there is over when a later one finds nothing changed:
  // observers of what is in sight have been called by then, and have had a frame to follow.
  await waits.untilObserved(frameTimeoutMs);
  for (let [round, since] = [0, start]; round < minRounds || performance.now() - start < restMs; round += 1) {
    const before = performance.now();
    const finished = finishAnimations();
    await waits.untilFrame(frameTimeoutMs);
    if (finished === 0 && !hasChangedSince(since)) break;
    since = before;
  }
  arrange();
}
