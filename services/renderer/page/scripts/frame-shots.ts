/// <reference lib="dom" />
import type { PageState } from './state.ts';
import type { everyElement as EveryElement } from './tree.ts';
import type { PageWaits } from './waits.ts';
import type { own as Own } from './own.ts';

declare const own: typeof Own;
declare const pageState: PageState;
declare const waits: PageWaits;
/** A function that the caller sends to the page together with the functions of this file. */
declare const everyElement: typeof EveryElement;

/** The visible part of a frame in CSS pixels from the top left corner of the page, and the offset of that part in the frame. */
export interface FrameBox {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly innerX: number;
  readonly innerY: number;
}

/** Finds frames of other origins that extend below the viewport. */
export function findFrames(): FrameBox[] {
  /** Maximum number of frames. Each takes about 100 ms. */
  const maxFrames = 30;
  const isOfOther = (element: Element): element is HTMLIFrameElement =>
    own(element).localName === 'iframe' &&
    (element as HTMLIFrameElement).contentDocument === null &&
    own(element).checkVisibility({ opacityProperty: true, visibilityProperty: true });
  const found: { readonly element: HTMLIFrameElement; readonly box: FrameBox }[] = [];
  for (const element of everyElement()) {
    if (found.length === maxFrames || !isOfOther(element)) continue;
    const outer = element.getBoundingClientRect();
    let [left, top, right, bottom] = [
      Math.max(0, outer.left),
      outer.top,
      Math.min(innerWidth, outer.right),
      outer.bottom,
    ];
    for (let at = element.parentElement; at !== null && at !== document.body; at = own(at).parentElement) {
      if (at === document.documentElement || getComputedStyle(at).overflow === 'visible') continue;
      const clip = own(at).getBoundingClientRect();
      [left, top] = [Math.max(left, clip.left), Math.max(top, clip.top)];
      [right, bottom] = [Math.min(right, clip.right), Math.min(bottom, clip.bottom)];
    }
    const [width, height] = [right - left, bottom - top];
    if (bottom <= innerHeight || width < 1 || height < 1) continue;
    const box = { x: left, y: top, width, height, innerX: left - outer.left, innerY: top - outer.top };
    found.push({ element, box });
  }
  pageState.webcaptureFrames = found.map(({ element }) => ({ element, style: element.getAttribute('style') }));
  return found.map(({ box }) => box);
}

/**
 * Shows one of the frames of {@link findFrames} on top of the page. The frame is moved so that its point (`innerX`, `innerY`) is in the top
 * left corner of the viewport.
 */
export async function showFrame(index: number, innerX: number, innerY: number): Promise<void> {
  const element = pageState.webcaptureFrames?.[index]?.element;
  if (element === undefined) return;
  const { width, height } = element.getBoundingClientRect();
  const set = (name: string, value: string) => element.style.setProperty(name, value, 'important');
  const { border, padding, backgroundColor, backgroundImage } = getComputedStyle(element);
  // Elements in the top layer are not clipped or transformed by their ancestors.
  const sheet = new CSSStyleSheet();
  sheet.replaceSync('html, body { background: none !important } html > * { opacity: 0 !important }');
  document.adoptedStyleSheets.push(sheet);
  element.popover = 'manual';
  element.showPopover();
  for (const [name, value] of Object.entries({
    position: 'fixed',
    inset: 'auto',
    top: `${-innerY}px`,
    left: `${-innerX}px`,
    width: `${width}px`,
    height: `${height}px`,
    'box-sizing': 'border-box',
    border,
    padding,
    'background-color': backgroundColor,
    'background-image': backgroundImage,
    margin: '0',
    display: 'block',
    overflow: 'clip',
  }))
    set(name, value);
  for (const name of ['min-width', 'min-height', 'max-width', 'max-height', 'transform', 'transition', 'animation'])
    set(name, name.startsWith('min') ? '0' : 'none');
  for (let frame = 0; frame < 3; frame += 1) await waits.untilFrame(100);
}

/** Restores a frame that {@link showFrame} moved. */
export function putFrameBack(index: number): void {
  const shown = pageState.webcaptureFrames?.[index];
  if (shown === undefined) return;
  shown.element.hidePopover();
  shown.element.popover = null;
  document.adoptedStyleSheets.pop();
  if (shown.style === null) shown.element.removeAttribute('style');
  else shown.element.setAttribute('style', shown.style);
}
