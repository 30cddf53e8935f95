/// <reference lib="dom" />
import type { PageState } from './state.ts';
import type { PageWaits } from './waits.ts';

declare const waits: PageWaits;

/**
 * Notes from now on which elements scripts restyle while the page is scrolled, for {@link holdScrollEffects}: parallax,
 * and what fades in and out with the scroll position.
 */
export function watchScrollEffects(): void {
  const observer = new MutationObserver(() => undefined);
  observer.observe(document, { subtree: true, attributes: true, attributeFilter: ['style'] });
  (globalThis as PageState).webcaptureEffects = { observer, stations: new Map() };
}

/**
 * Gives elements whose style scripts tie to the scroll position the look that they have with themselves in the middle of
 * the viewport, as {@link holdScrollAnimations} does for the animations of stylesheets: elsewhere they may be transparent,
 * or stand where nobody sees them. What is in sight at the top of the page stays as it is there.
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
  /** Effects that lag behind the scroll position have caught up by then. */
  const maxLagMs = 300;
  const mark = 'data-webcapture-held';
  const state = globalThis as PageState;
  const effects = state.webcaptureEffects;
  if (effects === undefined) return 0;
  effects.observer.disconnect();
  delete state.webcaptureEffects;

  const page = document.scrollingElement ?? document.documentElement;
  const scroller = state.webcaptureScroller?.element ?? page;
  const last = scroller.scrollHeight - scroller.clientHeight;
  const staysInSight = (element: Element): boolean => {
    for (let at: Element | null = element; at !== null; at = at.parentElement) {
      if (at === scroller) return false;
      const { position } = getComputedStyle(at);
      if (position === 'fixed' || position === 'sticky') return true;
    }
    return false;
  };
  const isInFirstView = (element: Element) => {
    const { top, bottom } = element.getBoundingClientRect();
    return top < innerHeight * 0.9 && bottom > 0;
  };
  const changed = [...effects.stations].filter(([, count]) => count >= Math.min(minStations, last / innerHeight));
  const elements = changed
    .map(([element]) => element)
    .filter((element) => element.isConnected && !staysInSight(element))
    .slice(0, maxElements);
  if (elements.length === 0 || last <= 0) return 0;

  const looks = elements.map((element) => ({ element, atTop: '', distance: Number.POSITIVE_INFINITY, look: '' }));
  const styles = () => looks.map(({ element }) => element.style.cssText).join('\n');
  const settle = async () => {
    await waits.untilFrame(100);
    await waits.untilFrame(100);
    const end = performance.now() + maxLagMs;
    for (let seen = styles(); performance.now() < end;) {
      await waits.untilFrame(100);
      const now = styles();
      if (now === seen) return;
      seen = now;
    }
  };

  await settle();
  for (const seen of looks) {
    seen.atTop = seen.look = seen.element.style.cssText;
    if (isInFirstView(seen.element)) seen.distance = -1;
  }
  const end = performance.now() + budgetMs;
  const step = Math.max(innerHeight / 3, last / maxStations);
  for (let y = 0; performance.now() < end; y += step) {
    scroller.scrollTo({ top: Math.min(y, last), behavior: 'instant' });
    await settle();
    for (const seen of looks) {
      const { top, height } = seen.element.getBoundingClientRect();
      const distance = Math.abs(top + height / 2 - innerHeight / 2);
      if (distance >= seen.distance || getComputedStyle(seen.element).position === 'fixed') continue;
      seen.distance = distance;
      seen.look = seen.element.style.cssText;
    }
    if (y >= last) break;
  }
  scroller.scrollTo({ top: 0, behavior: 'instant' });
  await settle();

  const sheet = new CSSStyleSheet();
  let held = 0;
  for (const { element, atTop, look } of looks) {
    // What has not come back to how it was has come in for good, and may have been on its way.
    if (look === '' || element.style.cssText !== atTop) continue;
    const rule = document.createElement('i');
    rule.style.cssText = look;
    for (const name of [...rule.style]) rule.style.setProperty(name, rule.style.getPropertyValue(name), 'important');
    element.setAttribute(mark, `${held}`);
    sheet.insertRule(`[${mark}="${held}"] { ${rule.style.cssText}; transition: none !important }`, held);
    held += 1;
  }
  if (held > 0) document.adoptedStyleSheets.push(sheet);
  state.webcaptureMotion?.observer.takeRecords();
  return held;
}
