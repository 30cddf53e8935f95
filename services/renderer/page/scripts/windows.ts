/// <reference lib="dom" />
import type { PageWaits } from './waits.ts';
import type { own as Own } from './own.ts';

declare const waits: PageWaits;
declare const own: typeof Own;

/**
 * Freezes pictures that are fixed to the viewport and clipped by an element of the page, which is like a window onto the picture. Scripts
 * move such pictures with the scroll position. Each picture stays as it is seen when its window is in the middle of the viewport. The page
 * is at its top before and after.
 *
 * @returns the frozen elements
 */
export async function holdInWindows(scroller: Element): Promise<ReadonlySet<HTMLElement>> {
  /** Maximum number of windows. Each is scrolled to, which takes a few frames. */
  const maxWindows = 20;
  /** Maximum height of a window, in viewport heights. A taller clip contains a whole page and is not a window in it. */
  const maxHeight = 2;
  const mark = 'data-webcapture-window';
  const windowOf = (element: Element): Element | undefined => {
    if (getComputedStyle(element).position !== 'fixed') return undefined;
    for (let at = own(element).parentElement; at !== null && at !== scroller; at = own(at).parentElement) {
      const { position, clip, clipPath } = getComputedStyle(at);
      if (position === 'fixed') return undefined;
      const isWindow = clip !== 'auto' || clipPath !== 'none';
      if (isWindow) return own(at).getBoundingClientRect().height <= innerHeight * maxHeight ? at : undefined;
    }
    return undefined;
  };
  const scrollTo = async (top: number) => {
    own(scroller).scrollTo({ top, behavior: 'instant' });
    // Scripts handle the new position in the first frame, and the picture moves in the next.
    for (let frame = 0; frame < 3; frame += 1) await waits.untilFrame(100);
  };
  const pictures: { element: HTMLElement; frame: Element; left: number; top: number; box: DOMRect }[] = [];
  for (const element of document.querySelectorAll<HTMLElement>('body *')) {
    const frame = pictures.length < maxWindows ? windowOf(element) : undefined;
    if (frame === undefined) continue;
    const { top, height } = own(frame).getBoundingClientRect();
    await scrollTo(Math.max(0, top + own(scroller).scrollTop + (height - innerHeight) / 2));
    const [box, { left, top: edge }] = [own(element).getBoundingClientRect(), own(frame).getBoundingClientRect()];
    pictures.push({ element, frame, left: box.left - left, top: box.top - edge, box });
  }
  if (pictures.length === 0) return new Set();
  await scrollTo(0);

  const sheet = new CSSStyleSheet();
  document.adoptedStyleSheets.push(sheet);
  pictures.forEach(({ element, frame, left, top, box }, index) => {
    own(element).setAttribute(mark, `${index}`);
    sheet.insertRule(`[${mark}="${index}"] {}`, index);
    const { style } = sheet.cssRules[index] as CSSStyleRule;
    const set = (name: string, value: string) => style.setProperty(name, value, 'important');
    set('position', 'absolute');
    for (const name of ['right', 'bottom']) set(name, 'auto');
    for (const name of ['top', 'left', 'margin']) set(name, '0px');
    for (const name of ['width', 'height'] as const) set(name, `${box[name]}px`);
    for (const name of ['max-width', 'max-height', 'transform', 'translate', 'scale', 'transition']) set(name, 'none');
    const [at, edge] = [own(element).getBoundingClientRect(), own(frame).getBoundingClientRect()];
    set('top', `${top - (at.top - edge.top)}px`);
    set('left', `${left - (at.left - edge.left)}px`);
  });
  return new Set(pictures.map(({ element }) => element));
}
