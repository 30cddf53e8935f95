/// <reference lib="dom" />
import type { holderOf as HolderOf, shareInSight as ShareInSight } from './scenes.ts';
import type { PageState, Scene } from './state.ts';
import type { PageWaits } from './waits.ts';
import type { holdInWindows as HoldInWindows } from './windows.ts';
import type { own as Own } from './own.ts';

declare const waits: PageWaits;
declare const pageState: PageState;
declare const own: typeof Own;
/** Helpers of the call from other files. */
declare const holderOf: typeof HolderOf;
declare const shareInSight: typeof ShareInSight;
declare const holdInWindows: typeof HoldInWindows;

/**
 * Notes from now on which elements scripts restyle while the page is scrolled, for {@link holdScrollEffects}: parallax,
 * and what fades in and out with the scroll position.
 */
export function watchScrollEffects(): void {
  const restyled = new Set<HTMLElement>();
  const observer = new MutationObserver((records) => {
    for (const { target } of records) restyled.add(target as HTMLElement);
  });
  observer.observe(document, { subtree: true, attributes: true, attributeFilter: ['style'] });
  pageState.webcaptureEffects = { observer, restyled, stations: new Map(), fixed: new Map() };
}

/** An element that scripts restyle as the page is scrolled, and the look of it that is to stay. */
interface Seen {
  readonly element: HTMLElement;
  /** Of the viewport, for what is fixed to it: the share that it covers at the top of the page. */
  readonly shareAtTop: number | undefined;
  /** Of the way that the sticky box goes which it stands in, in CSS pixels from the top of the page. */
  readonly middle: number | undefined;
  /** Its style at the top of the page. */
  atTop: string;
  /** Its style where it was seen best, and how far the page was scrolled then, in CSS pixels. */
  look: string;
  at: number;
  /** How far its middle was from that of the viewport then; negative where it stays as it is at the top of the page. */
  distance: number;
  /** What is fixed to the viewport: the share that it covered then, and where in the page that was, in CSS pixels from its top. */
  share: number;
  top: number;
  /** Scripts fix it to the viewport on the way, or what it stands in, as a sticky box would be. */
  isPinned: boolean;
}

/** For how long what lags behind the scroll position, and what comes in by itself, may still be waited for at all places together. */
interface Patience {
  lagMs: number;
  tweenMs: number;
}

/** The middle of an element, in CSS pixels from the top of the viewport. */
function middleOf(element: Element): number {
  const { top, height } = own(element).getBoundingClientRect();
  return top + height / 2;
}

/** Whether this share of the viewport is enough for a scene, or for a change of one. */
function isNotable(share: number): boolean {
  return Math.abs(share) >= 0.02;
}

/** What scripts have restyled at place after place, and much that is fixed to the viewport and comes and goes with the places. */
async function findEffects(scroller: Element, last: number): Promise<Seen[]> {
  /** One change may have come by itself; those of an effect come at each place. */
  const minStations = 2;
  /** Each one is measured at up to 40 places. */
  const maxElements = 300;
  /** Of the viewport: what scenes cover together, in a page that is shown by them. */
  const minFilmShare = 0.25;
  const state = pageState;
  const effects = state.webcaptureEffects;
  if (effects === undefined) return [];
  effects.observer.disconnect();
  delete state.webcaptureEffects;

  const isTied = [...effects.stations.values()].some((count) => count >= Math.min(minStations, last / innerHeight));
  const inWindows = effects.fixed.size > 0 ? await holdInWindows(scroller) : new Set<Element>();
  const isFixed = (element: Element) => holderOf(element, 'fixed', scroller) !== undefined;
  const elements = [...effects.stations.keys()]
    .filter((element) => isTied && own(element).isConnected && !isFixed(element) && !inWindows.has(element))
    .slice(0, maxElements);
  const fixed = [...effects.fixed]
    .filter(([element]) => own(element).isConnected && isFixed(element))
    .map(([element, share]) => ({ element, share, atTop: shareInSight(element) }))
    .filter(({ share, atTop }) => isNotable(Math.max(share, atTop)))
    .slice(0, maxElements);
  const comesIn = fixed.filter(({ share, atTop }) => share > atTop && isNotable(share - atTop));
  const isOutermost = ({ element }: (typeof fixed)[number]) =>
    !comesIn.some((other) => other.element !== element && own(other.element).contains(element));
  const covered = comesIn.filter(isOutermost).reduce((sum, { share, atTop }) => sum + share - atTop, 0);
  const stages = covered >= minFilmShare ? fixed : [];

  const begin = (element: HTMLElement, shareAtTop?: number): Seen => {
    const way = own(holderOf(element, 'sticky', scroller))?.parentElement;
    return {
      element,
      shareAtTop,
      middle: way ? middleOf(way) : undefined,
      atTop: '',
      look: '',
      at: 0,
      distance: Number.POSITIVE_INFINITY,
      share: shareAtTop ?? 0,
      top: 0,
      isPinned: false,
    };
  };
  return [...elements.map((element) => begin(element)), ...stages.map(({ element, atTop }) => begin(element, atTop))];
}

/** Resolves when scripts have followed the scroll position, and their elements are still. */
async function settleEffects(looks: readonly Seen[], patience: Patience): Promise<void> {
  /** Maximum lag of effects behind the scroll position. */
  const maxLagMs = 300;
  /** Maximum length of an animation that begins when its element comes into sight, or leaves it. */
  const maxTweenMs = 1500;
  /** A page that is not drawn has no frames; a busy machine is late with them. */
  const frameTimeoutMs = 1000;
  const styles = () => looks.map(({ element }) => own(element).style.cssText).join('\n');
  /** @returns whether nothing changed any more in time */
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
  await waits.untilFrame(frameTimeoutMs);
  const start = performance.now();
  if (await untilStill(Math.min(maxLagMs, patience.lagMs))) return;
  const late = performance.now();
  patience.lagMs -= late - start;
  const hasCome = await untilStill(Math.min(maxTweenMs, patience.tweenMs));
  // What goes on for ever is waited for once.
  patience.tweenMs = hasCome ? patience.tweenMs - (performance.now() - late) : 0;
}

/** Takes the look that an element has with the page scrolled by `y`, where it is seen better than it was before. */
function lookAt(seen: Seen, y: number, scroller: Element): void {
  const { element, shareAtTop } = seen;
  const look = own(element).style.cssText;
  if (shareAtTop !== undefined) {
    const share = shareInSight(element);
    if (Math.abs(share - shareAtTop) <= Math.abs(seen.share - shareAtTop)) return;
    const top = own(element).getBoundingClientRect().top + own(scroller).scrollTop;
    Object.assign(seen, { share, top, look, at: y });
    return;
  }
  const pin = seen.distance < 0 ? undefined : holderOf(element, 'fixed', scroller);
  if (pin !== undefined && !seen.isPinned) Object.assign(seen, { isPinned: true, distance: Number.POSITIVE_INFINITY });
  if (seen.isPinned && (pin === undefined || pin === element)) return;
  const place = pin === undefined ? element : own(pin).parentElement;
  const onItsWay = pin === undefined && seen.middle !== undefined ? seen.middle - own(scroller).scrollTop : undefined;
  const middle = onItsWay ?? (place === null ? 0 : middleOf(place));
  const distance = Math.abs(middle - innerHeight / 2);
  if (distance < seen.distance) Object.assign(seen, { distance, look, at: y });
}

/** Gives each element the look that was taken, and remembers scenes. Returns how many elements were changed. */
function keepLooks(looks: readonly Seen[]): number {
  /** What changes the look of an element, and neither its place in the page nor the page's height. */
  const looksOnly =
    /^(transform|translate|scale|rotate|opacity|filter|clip-path|visibility|color|background-.*|stroke-.*|--.*)$/;
  const mark = 'data-webcapture-held';
  const state = pageState;
  const scenes: Scene[] = [];
  const sheet = new CSSStyleSheet();
  let held = 0;
  for (const { element, look, share, shareAtTop, top, isPinned, distance } of looks) {
    const isPin = isPinned && distance === Number.POSITIVE_INFINITY;
    if (look === '' && !isPin) continue;
    if (shareAtTop !== undefined) {
      if (isNotable(share - shareAtTop)) scenes.push({ element, share: share - shareAtTop, top });
      continue;
    }
    const rule = document.createElement('i');
    // What is pinned stays where it is at the top of the page: its script moves it to the end of its way.
    own(rule).style.cssText = isPin ? `transform: ${getComputedStyle(element).transform}` : look;
    // A copy: properties are taken out on the way.
    const names = [...own(rule).style];
    for (const name of names) {
      const value = own(rule).style.getPropertyValue(name);
      // What has yet to come in is not kept from it.
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

/** The helpers of a call of {@link holdScrollEffects}. */
export const effectsHelpers = [findEffects, settleEffects, lookAt, keepLooks, middleOf, isNotable] as const;

/**
 * Gives elements whose style scripts tie to the scroll position the look that they have with themselves in the middle of
 * the viewport, as {@link holdScrollAnimations} does for the animations of stylesheets: elsewhere they may be transparent,
 * or stand where nobody sees them. What is in sight at the top of the page stays as it is there. Of a page that shows much
 * in boxes fixed to the viewport, which come and go with the scroll position, those are remembered as its scenes.
 * The page is at its top before and after.
 *
 * @param budgetMs it then goes on with what it has seen
 * @returns how many elements were changed
 */
export async function holdScrollEffects(budgetMs: number): Promise<number> {
  /** Each takes a few frames, and all of them at most the 10 s of the budget. */
  const maxStations = 40;
  /** A page with more doubtful places moves by itself. */
  const maxRevisits = 8;
  /** At all places together. */
  const patience: Patience = { lagMs: 3000, tweenMs: 6000 };
  const page = document.scrollingElement ?? document.documentElement;
  const scroller = pageState.webcaptureScroller?.scrolled ?? page;
  const last = own(scroller).scrollHeight - own(scroller).clientHeight;
  let looks = await findEffects(scroller, last);
  if (looks.length === 0 || last <= 0) return 0;

  await settleEffects(looks, patience);
  for (const seen of looks) seen.atTop = seen.look = own(seen.element).style.cssText;
  await waits.untilFrame(100);
  await waits.untilFrame(100);
  const isAsAtTop = ({ element, atTop }: Seen) => own(element).style.cssText === atTop;
  // What changes while nothing is scrolled goes on by itself.
  looks = looks.filter(isAsAtTop);
  if (looks.length === 0) return 0;
  const isInFirstView = ({ element }: Seen) => {
    const { top, bottom } = own(element).getBoundingClientRect();
    return top < innerHeight * 0.9 && bottom > 0;
  };
  for (const seen of looks) if (seen.shareAtTop === undefined && isInFirstView(seen)) seen.distance = -1;
  const scrollTo = (top: number) => {
    own(scroller).scrollTo({ top, behavior: 'instant' });
    return settleEffects(looks, patience);
  };
  const end = performance.now() + budgetMs;
  const step = Math.max(innerHeight / 3, last / maxStations);
  for (let y = 0; performance.now() < end; y += step) {
    const at = Math.min(y, last);
    await scrollTo(at);
    for (const seen of looks) lookAt(seen, at, scroller);
    if (y >= last) break;
  }
  await scrollTo(0);

  // What the scroll position decides is at each place as it was. What is not is on its own way: slides, what has come in.
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
