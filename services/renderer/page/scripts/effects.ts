/// <reference lib="dom" />
import type { movesEndlessly as MovesEndlessly } from './motion.ts';
import type { holderOf as HolderOf, visibleShare as VisibleShare } from './scenes.ts';
import type { PageState, Scene } from './state.ts';
import type { PageWaits } from './waits.ts';
import type { holdInWindows as HoldInWindows } from './windows.ts';
import type { own as Own } from './own.ts';

declare const waits: PageWaits;
declare const pageState: PageState;
declare const own: typeof Own;
/** Functions of other files that the call uses. */
declare const holderOf: typeof HolderOf;
declare const visibleShare: typeof VisibleShare;
declare const holdInWindows: typeof HoldInWindows;
declare const movesEndlessly: typeof MovesEndlessly;

/**
 * Starts to record which elements scripts restyle while the page is scrolled (parallax, elements that fade with the scroll position).
 * {@link holdScrollEffects} uses the records.
 */
export function watchScrollEffects(): void {
  const restyled = new Set<HTMLElement>();
  const observer = new MutationObserver((records) => {
    for (const { target } of records) restyled.add(target as HTMLElement);
  });
  observer.observe(document, { subtree: true, attributes: true, attributeFilter: ['style'] });
  pageState.webcaptureEffects = { observer, restyled, stations: new Map(), fixed: new Map() };
}

/** An element that scripts restyle on scroll. */
interface Effect {
  readonly element: HTMLElement;
  /** For an element fixed to the viewport: the share of the viewport that it covers at the top of the page. */
  readonly shareAtTop?: number;
}

/** An effect, and the style that its element will keep. */
interface Seen extends Effect {
  /** The element itself, or for an element in a sticky box: the parent of the box, in which the box moves. */
  readonly place: Element;
  /** Style of the element when the page is at its top. */
  readonly atTop: string;
  /** Style of the element at the scroll position `at`, where most of the element was visible. */
  look: string;
  at: number;
  /**
   * Distance between the middles of the element and the viewport at `at`. If it is negative, the element keeps its style at the top of the
   * page.
   */
  distance: number;
  /** The share of the viewport that a fixed element covered at the scroll position `at`. */
  share: number;
  /** Whether scripts fix the element or an ancestor to the viewport during scrolling, like a sticky box. */
  isPinned: boolean;
}

/**
 * Remaining time for all scroll positions together: one budget for effects that lag behind the scroll position, and one for animations that
 * start by themselves.
 */
interface WaitBudget {
  lagMs: number;
  tweenMs: number;
}

/** Returns the middle of an element, in CSS pixels from the top of the viewport. */
function middleOf(element: Element): number {
  const { top, height } = own(element).getBoundingClientRect();
  return top + height / 2;
}

/** Whether a share of the viewport is large enough for a scene, or for a change of a scene. */
function isNotable(share: number): boolean {
  return Math.abs(share) >= 0.02;
}

/** Finds elements that scripts restyle at several scroll positions, and large fixed elements that appear and disappear on scroll. */
async function findEffects(
  { stations, fixed: shares }: Pick<NonNullable<PageState['webcaptureEffects']>, 'stations' | 'fixed'>,
  scroller: Element,
  last: number,
): Promise<Effect[]> {
  /** A single change may be unrelated to scrolling. A scroll effect changes the style at each position. */
  const minStations = 2;
  /** Maximum number of elements, because each is measured at up to 40 positions. */
  const maxElements = 300;
  /** Minimum share of the viewport that scenes must cover together for the page to count as scene-based. */
  const minFilmShare = 0.25;
  const isTied = [...stations.values()].some((count) => count >= Math.min(minStations, last / innerHeight));
  const inWindows = shares.size > 0 ? await holdInWindows(scroller) : new Set<Element>();
  const isFixed = (element: Element) => holderOf(element, 'fixed', scroller) !== undefined;
  const elements = [...stations.keys()]
    .filter((element) => isTied && own(element).isConnected && !isFixed(element) && !inWindows.has(element))
    .slice(0, maxElements);
  const fixed = [...shares]
    .filter(([element]) => isFixed(element))
    .map(([element, share]) => ({ element, share, shareAtTop: visibleShare(element) }))
    .filter(({ share, shareAtTop }) => isNotable(Math.max(share, shareAtTop)))
    .slice(0, maxElements);
  const comesIn = fixed.filter(({ share, shareAtTop }) => isNotable(Math.max(0, share - shareAtTop)));
  const isOutermost = ({ element }: Effect) =>
    !comesIn.some((other) => other.element !== element && own(other.element).contains(element));
  const covered = comesIn.filter(isOutermost).reduce((sum, { share, shareAtTop }) => sum + share - shareAtTop, 0);
  const stages = covered >= minFilmShare ? fixed : [];
  return [
    ...elements.map((element) => ({ element })),
    ...stages.map(({ element, shareAtTop }) => ({ element, shareAtTop })),
  ];
}

/** Waits until scripts have followed the scroll position, and the styles of their elements no longer change. */
async function settleEffects(effects: readonly Effect[], budget: WaitBudget): Promise<void> {
  /** Maximum lag of effects behind the scroll position. */
  const maxLagMs = 300;
  /** Maximum length of an animation that starts when its element enters or leaves the view. */
  const maxTweenMs = 1500;
  /** Maximum wait for a frame. A page that is not drawn has no frames, and a busy machine draws them late. */
  const frameTimeoutMs = 1000;
  const styles = () => effects.map(({ element }) => own(element).style.cssText).join('\n');
  const before = styles();
  /** @returns whether the styles stopped changing in time */
  const untilStill = async (maxMs: number): Promise<boolean> => {
    const start = performance.now();
    for (let seen = styles(); performance.now() - start < maxMs;) {
      await waits.untilFrame(frameTimeoutMs);
      const now = styles();
      if (now === seen) return true;
      seen = now;
    }
    return false;
  };
  await waits.untilFrame(frameTimeoutMs);
  const first = styles();
  await waits.untilFrame(frameTimeoutMs);
  // Scripts have followed in the first frame, and there was nothing left to do in the second one.
  if (first !== before && first === styles()) return;
  const start = performance.now();
  if (await untilStill(Math.min(maxLagMs, budget.lagMs))) return;
  const late = performance.now();
  budget.lagMs -= late - start;
  const hasCome = await untilStill(Math.min(maxTweenMs, budget.tweenMs));
  // An endless animation can use up the budget, but only once.
  budget.tweenMs = hasCome ? budget.tweenMs - (performance.now() - late) : 0;
}

/** Describes an effect at the top of the page, before any other scroll position. */
function beginLook(effect: Effect, scroller: Element): Seen {
  const { element, shareAtTop = 0 } = effect;
  const style = own(element).style.cssText;
  return {
    ...effect,
    place: own(holderOf(element, 'sticky', scroller))?.parentElement ?? element,
    atTop: style,
    look: style,
    at: 0,
    distance: Number.POSITIVE_INFINITY,
    share: shareAtTop,
    isPinned: false,
  };
}

/** Records the style of an element when the page is scrolled by `y`, if the element is better visible there than before. */
function lookAt(seen: Seen, y: number, scroller: Element): void {
  const { element, shareAtTop } = seen;
  const look = own(element).style.cssText;
  if (shareAtTop !== undefined) {
    const share = visibleShare(element);
    if (Math.abs(share - shareAtTop) <= Math.abs(seen.share - shareAtTop)) return;
    Object.assign(seen, { share, look, at: y });
    return;
  }
  const pin = seen.distance < 0 ? undefined : holderOf(element, 'fixed', scroller);
  if (pin !== undefined && !seen.isPinned) Object.assign(seen, { isPinned: true, distance: Number.POSITIVE_INFINITY });
  if (seen.isPinned && (pin === undefined || pin === element)) return;
  const place = pin === undefined ? seen.place : (own(pin).parentElement as Element);
  const distance = Math.abs(middleOf(place) - innerHeight / 2);
  if (distance < seen.distance) Object.assign(seen, { distance, look, at: y });
}

/**
 * Whether {@link lookAt} would record nothing when the page is scrolled by `y`, because the element is in view at the top of the page, or
 * will be far from the viewport. Elements that scripts may move along with the viewport are never away.
 */
function isAwayAt(seen: Seen, y: number, scroller: Element): boolean {
  /** Distance from the viewport, in heights of the viewport. Parallax moves elements by less. */
  const farViews = 1.5;
  const { place, shareAtTop, isPinned, distance } = seen;
  if (shareAtTop !== undefined || isPinned) return false;
  if (distance < 0) return true;
  const { top, bottom } = own(place).getBoundingClientRect();
  const moved = y - own(scroller).scrollTop;
  return bottom - moved < -farViews * innerHeight || top - moved > (1 + farViews) * innerHeight;
}

/** Gives each element its recorded style, and stores scenes. Returns the number of elements that were changed. */
function keepLooks(looks: readonly Seen[]): number {
  /** Properties that affect neither the element's place in the layout nor the height of the page. */
  const looksOnly =
    /^(transform|translate|scale|rotate|opacity|filter|clip-path|visibility|color|background-.*|stroke-.*|--.*)$/;
  const mark = 'data-webcapture-held';
  const state = pageState;
  const scenes: Scene[] = [];
  const sheet = new CSSStyleSheet();
  let held = 0;
  for (const { element, look, share, shareAtTop, isPinned, distance } of looks) {
    const isPin = isPinned && distance === Number.POSITIVE_INFINITY;
    if (look === '' && !isPin) continue;
    if (shareAtTop !== undefined) {
      if (isNotable(share - shareAtTop)) scenes.push({ element, share: share - shareAtTop });
      continue;
    }
    const rule = document.createElement('i');
    // A pinned element keeps the transform that it has at the top of the page, because its script would move it to the end of its range.
    own(rule).style.cssText = isPin ? `transform: ${getComputedStyle(element).transform}` : look;
    // The loop removes properties, so it iterates over a copy.
    const names = [...own(rule).style];
    for (const name of names) {
      const value = own(rule).style.getPropertyValue(name);
      // Elements that are still hidden must be able to appear later.
      const hides = (name === 'opacity' && Number(value) === 0) || (name === 'visibility' && value === 'hidden');
      if (hides || !looksOnly.test(name)) own(rule).style.removeProperty(name);
      else own(rule).style.setProperty(name, value, 'important');
    }
    if (own(rule).style.length === 0) continue;
    own(element).setAttribute(mark, `${held}`);
    sheet.insertRule(`[${mark}="${held}"] { ${own(rule).style.cssText}; transition: none !important }`, held);
    held += 1;
  }
  if (held > 0) document.adoptedStyleSheets.push(sheet);
  state.webcaptureScenes = scenes;
  state.webcaptureMotion?.observer.takeRecords();
  return held;
}

/** Functions that must be sent to the page together with {@link holdScrollEffects}. */
export const effectsHelpers = [
  findEffects,
  settleEffects,
  beginLook,
  lookAt,
  isAwayAt,
  keepLooks,
  middleOf,
  isNotable,
] as const;

/**
 * Freezes elements whose style scripts tie to the scroll position, because elsewhere they may be transparent or out of view. Each element
 * keeps the style that it has when it is in the middle of the viewport; {@link holdScrollAnimations} does the same for CSS animations.
 * Elements in view at the top of the page keep their style there. If boxes fixed to the viewport appear and disappear on scroll and cover
 * much of it, they are stored as the page's scenes. The page is scrolled to its top before and after.
 *
 * @param budgetMs time limit; on a page that needs more time, fewer scroll positions are visited
 * @returns the number of elements that were changed
 */
export async function holdScrollEffects(budgetMs: number): Promise<number> {
  /** Maximum number of scroll positions. Each takes a few frames. */
  const maxStations = 40;
  /** Maximum number of doubtful positions. A page with more of them is animated independently of scrolling. */
  const maxRevisits = 8;
  /** Time limits for all positions together. */
  const budget: WaitBudget = { lagMs: 3000, tweenMs: 6000 };
  /**
   * Time for which the page is watched without scrolling. Scenes do not change then. Slides of a background that advance automatically do,
   * on a busy machine in any frame.
   */
  const calmMs = 300;
  /** Maximum wait for a frame. A page that is not drawn has no frames, and a busy machine draws them late. */
  const frameTimeoutMs = 1000;
  const { webcaptureEffects } = pageState;
  if (webcaptureEffects === undefined) return 0;
  webcaptureEffects.observer.disconnect();
  delete pageState.webcaptureEffects;
  if (webcaptureEffects.stations.size === 0) return 0;
  // Scripts may not have handled the return to the top of the page yet.
  for (let frame = 0; frame < 2; frame += 1) await waits.untilFrame(frameTimeoutMs);
  // An element that moved without end before scrolling, and still moves, does not come to rest at any scroll position.
  const endless = [...webcaptureEffects.stations.keys()].filter(movesEndlessly);
  const styles = endless.map((element) => own(element).style.cssText);
  if (endless.length > 0) await waits.untilFrame(frameTimeoutMs);
  endless.forEach((element, index) => {
    if (own(element).style.cssText !== styles[index]) webcaptureEffects.stations.delete(element);
  });
  const page = document.scrollingElement ?? document.documentElement;
  const scroller = pageState.webcaptureScroller?.scrolled ?? page;
  const last = own(scroller).scrollHeight - own(scroller).clientHeight;
  const effects = await findEffects(webcaptureEffects, scroller, last);
  if (effects.length === 0 || last <= 0) return 0;

  await settleEffects(effects, budget);
  let looks = effects.map((effect) => beginLook(effect, scroller));
  const isAsAtTop = ({ element, atTop }: Seen) => own(element).style.cssText === atTop;
  const calmEnd = performance.now() + (looks.some(({ shareAtTop }) => shareAtTop !== undefined) ? calmMs : 0);
  // Elements that change while nothing scrolls are animated independently of scrolling.
  for (let frame = 0; frame < 2 || performance.now() < calmEnd; frame += 1) {
    await waits.untilFrame(100);
    looks = looks.filter(isAsAtTop);
  }
  if (looks.length === 0) return 0;
  const isInFirstView = ({ element }: Seen) => {
    const { top, bottom } = own(element).getBoundingClientRect();
    return top < innerHeight * 0.9 && bottom > 0;
  };
  for (const seen of looks) if (isInFirstView(seen)) seen.distance = -1;
  const scrollTo = (top: number) => {
    own(scroller).scrollTo({ top, behavior: 'instant' });
    return settleEffects(looks, budget);
  };
  const start = performance.now();
  const end = start + budgetMs;
  const minStep = Math.max(innerHeight / 3, last / maxStations);
  let step = minStep;
  let visited = 0;
  for (let y = 0; performance.now() < end; y += step) {
    const at = Math.min(y, last);
    if (at > 0 && at < last && looks.every((seen) => isAwayAt(seen, at, scroller))) continue;
    await scrollTo(at);
    for (const seen of looks) lookAt(seen, at, scroller);
    if (y >= last) break;
    visited += 1;
    const now = performance.now();
    // If the positions take long, they are further apart, so that the time suffices for the whole page.
    step = Math.max(minStep, (((now - start) / visited) * (last - at)) / Math.max(1, end - now));
  }
  await scrollTo(0);

  // At the same position, a scroll effect always results in the same style. If the style differs, the element is animated by itself, such
  // as a slide or content that has appeared.
  const doubtful = Map.groupBy(
    looks.filter((seen) => !isAsAtTop(seen)),
    ({ at }) => at,
  );
  const moving = new Set<Seen>();
  let revisits = 0;
  for (const [at, those] of doubtful) {
    revisits += 1;
    const isRevisited = revisits <= maxRevisits && performance.now() < end;
    if (isRevisited) await scrollTo(at);
    for (const seen of those) {
      if (!isRevisited || own(seen.element).style.cssText !== seen.look) moving.add(seen);
    }
  }
  if (doubtful.size > 0) await scrollTo(0);
  return keepLooks(looks.filter((seen) => !moving.has(seen)));
}
