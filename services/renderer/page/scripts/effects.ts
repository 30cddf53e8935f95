/// <reference lib="dom" />
import type { holderOf as HolderOf, shareInSight as ShareInSight } from './scenes.ts';
import type { PageState, Scene } from './state.ts';
import type { PageWaits } from './waits.ts';
import type { holdInWindows as HoldInWindows } from './windows.ts';

declare const waits: PageWaits;
/** Helpers of the call of {@link holdScrollEffects}. */
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
  (globalThis as PageState).webcaptureEffects = { observer, restyled, stations: new Map(), fixed: new Map() };
}

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
  /** One change may have come by itself; those of an effect come at each place. */
  const minStations = 2;
  const maxElements = 300;
  const maxStations = 40;
  const maxRevisits = 8;
  /** Effects that lag behind the scroll position have caught up by then; at all places together they may take so long. */
  const maxLagMs = 300;
  const lagBudgetMs = 3000;
  /** What comes in by itself when it is scrolled to, and goes when it is out of sight, is over by then; likewise. */
  const maxTweenMs = 1500;
  const tweenBudgetMs = 6000;
  /** Of the viewport: what covers less is no scene, and what scenes cover together, in a page that is shown by them. */
  const minSceneShare = 0.02;
  const minFilmShare = 0.25;
  /** What changes the look of an element, and neither its place in the page nor the page's height. */
  const looksOnly =
    /^(transform|translate|scale|rotate|opacity|filter|clip-path|visibility|color|background-.*|stroke-.*|--.*)$/;
  const mark = 'data-webcapture-held';
  const state = globalThis as PageState;
  const effects = state.webcaptureEffects;
  if (effects === undefined) return 0;
  effects.observer.disconnect();
  delete state.webcaptureEffects;

  const page = document.scrollingElement ?? document.documentElement;
  const scroller = state.webcaptureScroller?.element ?? page;
  const last = scroller.scrollHeight - scroller.clientHeight;
  const middleOf = (element: Element | null | undefined): number | undefined => {
    if (!element) return undefined;
    const { top, height } = element.getBoundingClientRect();
    return top + height / 2;
  };
  const isInFirstView = (element: Element) => {
    const { top, bottom } = element.getBoundingClientRect();
    return top < innerHeight * 0.9 && bottom > 0;
  };
  const isTied = [...effects.stations.values()].some((count) => count >= Math.min(minStations, last / innerHeight));
  const inWindows = effects.fixed.size > 0 ? await holdInWindows(scroller) : new Set<Element>();
  const isFixed = (element: Element) => holderOf(element, 'fixed', scroller) !== undefined;
  const elements = [...effects.stations.keys()]
    .filter((element) => isTied && element.isConnected && !isFixed(element) && !inWindows.has(element))
    .slice(0, maxElements);
  const fixed = [...effects.fixed]
    .filter(([element]) => element.isConnected && isFixed(element))
    .map(([element, share]) => ({ element, share, atTop: shareInSight(element) }))
    .filter(({ share, atTop }) => Math.max(share, atTop) >= minSceneShare)
    .slice(0, maxElements);
  const comesIn = fixed.filter(({ share, atTop }) => share - atTop >= minSceneShare);
  const isOutermost = ({ element }: (typeof fixed)[number]) =>
    !comesIn.some((other) => other.element !== element && other.element.contains(element));
  const covered = comesIn.filter(isOutermost).reduce((sum, { share, atTop }) => sum + share - atTop, 0);
  const stages = covered >= minFilmShare ? fixed : [];
  if (elements.length + stages.length === 0 || last <= 0) return 0;

  let looks = [
    ...elements.map((element) => ({ element, shareAtTop: undefined })),
    ...stages.map(({ element, atTop }) => ({ element, shareAtTop: atTop })),
  ].map(({ element, shareAtTop }) => ({
    element,
    /** Of the viewport, for what is fixed to it. */
    shareAtTop,
    share: shareAtTop ?? 0,
    /** Of the way that the sticky box goes which it stands in, in CSS pixels from the top of the page. */
    middle: middleOf(holderOf(element, 'sticky', scroller)?.parentElement),
    atTop: '',
    distance: Number.POSITIVE_INFINITY,
    look: '',
    at: 0,
    /** In the page, in CSS pixels from its top, where it was seen. */
    top: 0,
    /** Scripts fix it to the viewport on the way, or what it stands in, as a sticky box would be. */
    isPinned: false,
  }));
  const styles = () => looks.map(({ element }) => element.style.cssText).join('\n');
  /** @returns whether nothing changed any more in time */
  const untilStill = async (maxMs: number): Promise<boolean> => {
    const start = performance.now();
    for (let seen = styles(); performance.now() - start < maxMs;) {
      await waits.untilFrame(100);
      const now = styles();
      if (now === seen) return true;
      seen = now;
    }
    return false;
  };
  let [lagLeftMs, tweenLeftMs] = [lagBudgetMs, tweenBudgetMs];
  const settle = async () => {
    await waits.untilFrame(100);
    await waits.untilFrame(100);
    const start = performance.now();
    if (await untilStill(Math.min(maxLagMs, lagLeftMs))) return;
    const late = performance.now();
    lagLeftMs -= late - start;
    const hasCome = await untilStill(Math.min(maxTweenMs, tweenLeftMs));
    // What goes on for ever is waited for once.
    tweenLeftMs = hasCome ? tweenLeftMs - (performance.now() - late) : 0;
  };

  await settle();
  for (const seen of looks) seen.atTop = seen.look = seen.element.style.cssText;
  await waits.untilFrame(100);
  await waits.untilFrame(100);
  // What changes while nothing is scrolled goes on by itself.
  looks = looks.filter(({ element, atTop }) => element.style.cssText === atTop);
  if (looks.length === 0) return 0;
  for (const seen of looks) if (seen.shareAtTop === undefined && isInFirstView(seen.element)) seen.distance = -1;
  const scrollTo = (top: number) => {
    scroller.scrollTo({ top, behavior: 'instant' });
    return settle();
  };
  const end = performance.now() + budgetMs;
  const step = Math.max(innerHeight / 3, last / maxStations);
  for (let y = 0; performance.now() < end; y += step) {
    await scrollTo(Math.min(y, last));
    for (const seen of looks) {
      if (seen.shareAtTop !== undefined) {
        const share = shareInSight(seen.element);
        if (Math.abs(share - seen.shareAtTop) <= Math.abs(seen.share - seen.shareAtTop)) continue;
        const top = seen.element.getBoundingClientRect().top + scroller.scrollTop;
        Object.assign(seen, { share, top, look: seen.element.style.cssText, at: Math.min(y, last) });
        continue;
      }
      const pin = seen.distance < 0 ? undefined : holderOf(seen.element, 'fixed', scroller);
      if (pin !== undefined && !seen.isPinned)
        Object.assign(seen, { isPinned: true, distance: Number.POSITIVE_INFINITY });
      if (seen.isPinned && (pin === undefined || pin === seen.element)) continue;
      const middle =
        pin === undefined && seen.middle !== undefined
          ? seen.middle - scroller.scrollTop
          : middleOf(pin === undefined ? seen.element : pin.parentElement);
      const distance = Math.abs((middle ?? 0) - innerHeight / 2);
      if (distance >= seen.distance) continue;
      seen.distance = distance;
      seen.look = seen.element.style.cssText;
      seen.at = Math.min(y, last);
    }
    if (y >= last) break;
  }
  await scrollTo(0);

  // What the scroll position decides is at each place as it was. What is not is on its own way: slides, what has come in.
  const isBack = ({ element, atTop }: (typeof looks)[number]) => element.style.cssText === atTop;
  const doubtful = Map.groupBy(
    looks.filter((seen) => !isBack(seen)),
    ({ at }) => at,
  );
  const moving = new Set<HTMLElement>();
  let revisits = 0;
  for (const [at, seen] of doubtful) {
    revisits += 1;
    const isRevisited = revisits <= maxRevisits && performance.now() < end;
    if (isRevisited) await scrollTo(at);
    for (const { element, look } of seen) {
      if (!isRevisited || element.style.cssText !== look) moving.add(element);
    }
  }
  if (doubtful.size > 0) await scrollTo(0);

  const scenes: Scene[] = [];
  const sheet = new CSSStyleSheet();
  let held = 0;
  for (const { element, look, share, shareAtTop, top, isPinned, distance } of looks) {
    const isPin = isPinned && distance === Number.POSITIVE_INFINITY;
    if ((look === '' && !isPin) || moving.has(element)) continue;
    if (shareAtTop !== undefined) {
      if (Math.abs(share - shareAtTop) >= minSceneShare) scenes.push({ element, share: share - shareAtTop, top });
      continue;
    }
    const rule = document.createElement('i');
    // What is pinned stays where it is at the top of the page: its script moves it to the end of its way.
    rule.style.cssText = isPin ? `transform: ${getComputedStyle(element).transform}` : look;
    // A copy: properties are taken out on the way.
    const names = [...rule.style];
    for (const name of names) {
      const value = rule.style.getPropertyValue(name);
      // What has yet to come in is not kept from it.
      const hides = (name === 'opacity' && Number(value) === 0) || (name === 'visibility' && value === 'hidden');
      if (hides || !looksOnly.test(name)) rule.style.removeProperty(name);
      else rule.style.setProperty(name, value, 'important');
    }
    if (rule.style.length === 0) continue;
    element.setAttribute(mark, `${held}`);
    sheet.insertRule(`[${mark}="${held}"] { ${rule.style.cssText}; transition: none !important }`, held);
    held += 1;
  }
  if (held > 0) document.adoptedStyleSheets.push(sheet);
  state.webcaptureScenes = scenes;
  state.webcaptureMotion?.observer.takeRecords();
  return held;
}
