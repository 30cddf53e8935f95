/// <reference lib="dom" />
import type { finishAnimations as FinishAnimations } from './animations.ts';
import type { PageState, Place } from './state.ts';
import type { PageWaits } from './waits.ts';
import type { own as Own } from './own.ts';

declare const waits: PageWaits;
declare const pageState: PageState;
declare const own: typeof Own;
/** A function that the caller sends to the page together with the functions of this file. */
declare const finishAnimations: typeof FinishAnimations;

/** Records the elements in the page's flow, and puts sticky elements at their places in the flow. */
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
    if (position === 'sticky') own(element).toggleAttribute(mark, true);
  }
  // The rule is important, because scripts keep setting inline styles.
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(`[${mark}] { position: relative !important; inset: auto !important }`);
  document.adoptedStyleSheets.push(sheet);
  pageState.webcaptureTiles = { flow, fixedAtTop, shown: new Set() };
}

/**
 * Scrolls to a tile, waits until animations there have ended, and hides fixed elements that belong to another tile. Elements at the lower
 * edge of the viewport belong to the last tile, other fixed elements to the first. Scenes and fixed backgrounds stay in every tile.
 * Elements that become fixed on scroll stay at their places in the page.
 *
 * @param top of the tile, in CSS pixels from the top of the page
 * @param restMs limit for animations
 */
export async function showTile(top: number, isLast: boolean, restMs: number): Promise<void> {
  /** Minimum height of a fixed element that counts as a background, as a share of the viewport's height. */
  const minBackdrop = 0.9;
  /** Minimum share of the viewport for an element that appears later. A smaller one is a button and is left out. */
  const minLate = 0.02;
  /** Maximum wait for a frame. A page that is not drawn has no frames, and a busy machine draws them late. */
  const frameTimeoutMs = 1000;
  /** Time after which changes that continue count as endless and are not waited for. */
  const maxRowMs = 1000;
  /** Minimum number of rounds, which also applies on a busy machine. */
  const minRounds = 3;
  const { webcaptureTiles: state, webcaptureMotion, webcaptureScenes: scenes = [] } = pageState;
  const hide = (element: Element, isHidden: boolean) => {
    if (!(element instanceof HTMLElement || element instanceof SVGElement)) return;
    if (isHidden) own(element).style.setProperty('opacity', '0', 'important');
    else if (own(element).style.getPropertyPriority('opacity') === 'important')
      own(element).style.removeProperty('opacity');
    if (isHidden) own(element).style.setProperty('transition', 'none', 'important');
  };
  /**
   * Puts an element that was in the flow back to its place, in each tile. Elements after it keep the places at which its script left them.
   */
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
  /** Whether an element appears later and is larger than a button. Such an element is shown in the tile where it is first seen. */
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
      // The background of a sidebar continues in every tile.
      if (isTall)
        for (const child of own(element).children)
          hide(child, !isHere && (own(element).textContent ?? '').trim() !== '');
      else hide(element, !isHere);
    }
  };
  /** Whether scripts have changed nodes since `time`. Endless changes do not count. */
  const hasChangedSince = (time: number) =>
    [...(webcaptureMotion?.nodes.values() ?? [])].some(({ since, last }) => last >= time && last - since < maxRowMs);
  const start = performance.now();
  window.scrollTo({ top, behavior: 'instant' });
  // Scripts handle the new position in the next frame. Intersection observers are then called and have a frame to react. If a later frame
  // finds no changes, the scripts are done.
  await waits.waitForIntersectionObservers(frameTimeoutMs);
  for (let [round, since] = [0, start]; round < minRounds || performance.now() - start < restMs; round += 1) {
    const before = performance.now();
    const finished = finishAnimations();
    await waits.untilFrame(frameTimeoutMs);
    if (finished === 0 && !hasChangedSince(since)) break;
    since = before;
  }
  arrange();
}
