import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import { parseSelector } from '@webcapture/shared/api/selector.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { callTimeoutMs } from './deadline.ts';
import { explainMiss, refusedSelector } from './miss.ts';
import type { OpenPage } from './open.ts';
import { loadEagerly } from './scripts/assets.ts';
import { boxing } from './scripts/boxes.ts';
import { clearView, openBoxes } from './scripts/covers.ts';
import { type Box, isolateElement, scrollToElement } from './scripts/element.ts';
import { measurePage } from './scripts/measures.ts';
import { scrollToTop } from './scripts/scrolling.ts';
import { scrollPage } from './scroll-page.ts';
import { selecting } from './scripts/selecting.ts';
import { find } from './wait-for.ts';
import { step } from './world.ts';

/** The region of the page that is captured instead of the viewport. */
export type PageRegion = Box;

/** Time limit of the wait for the element. Clients that expect the element later can use `waitFor`. */
const elementTimeoutMs = 5000;
/** Number of steps from the top of the page to its end. */
const scrollSteps = 12;
/** Time limit of scrolling to the end of a tall element. */
const scrollTimeoutMs = 15_000;

const helpers = [...selecting, ...boxing, openBoxes, clearView, measurePage];

/** Whether the capture is limited to a region of the page. */
export const requestsRegion = ({ selector, clip }: RenderOptions): boolean =>
  selector !== undefined || clip !== undefined;

/**
 * Scrolls to the requested region and loads the content that appears on the way.
 *
 * @returns whether the region is larger than the viewport
 * @throws ServiceError CAPTURE_FAILED if the region does not exist
 */
export async function scrollToRegion(open: OpenPage, { selector, clip }: RenderOptions): Promise<boolean> {
  if (clip) return showClip(open, clip);
  if (selector === undefined) return false;
  const { world } = open;
  const found = await find(open, { selector, state: 'visible' }, elementTimeoutMs);
  if (found === 'refused') throw refusedSelector(nameOf(selector));
  if (found === 'missed') throw await missing(open, selector);
  const limit = { timeoutMs: scrollTimeoutMs, what: 'scrolling to the element' };
  const isLarge = await world.call(scrollToElement, [parseSelector(selector)], limit, helpers);
  if (isLarge) await world.call(loadEagerly, [], { timeoutMs: callTimeoutMs, what: 'loading' });
  return isLarge;
}

/**
 * Uncovers the requested region and returns its box. Does not wait for the page, and thus also works after the page's scripts were stopped.
 *
 * @throws ServiceError CAPTURE_FAILED if the region does not exist
 */
export async function measureRegion(open: OpenPage, options: RenderOptions): Promise<PageRegion | undefined> {
  const { selector, clip, elementPadding = 0 } = options;
  if (clip) return frameClip(open, clip);
  if (selector === undefined) return undefined;
  const { world } = open;
  const limit = { timeoutMs: callTimeoutMs, what: 'the element' };
  const box = await world.call(isolateElement, [parseSelector(selector), elementPadding], limit, helpers);
  if (box === null) throw await missing(open, selector);
  return box;
}

/** Scrolls to the clip and back to the top. Fixed elements return to the places that they have at the top. */
async function showClip(open: OpenPage, { x, y, width, height }: Box): Promise<boolean> {
  const { world, emulation } = open;
  const { viewport } = emulation;
  const limit = { timeoutMs: callTimeoutMs, what: 'scrolling' };
  const [, { left }] = await world.callEach([step(scrollToTop), step(measurePage)], limit);
  if (x >= left && x + width <= left + viewport.width && y + height <= viewport.height) return false;
  await world.call(loadEagerly, [], { timeoutMs: callTimeoutMs, what: 'loading' });
  await scrollPage(open, scrollSteps);
  return true;
}

async function frameClip({ world }: OpenPage, clip: Box): Promise<PageRegion> {
  await world.call(scrollToTop, [], { timeoutMs: callTimeoutMs, what: 'scrolling' });
  const page = await world.call(measurePage, [], { timeoutMs: callTimeoutMs, what: 'measuring' });
  const [right, bottom] = [clip.x + clip.width, clip.y + clip.height];
  if (right > page.width || bottom > page.height) {
    const message = `clip extends to ${right} × ${bottom} px, but the page is ${page.width} × ${page.height} px. Request a smaller clip.`;
    throw new ServiceError('CAPTURE_FAILED', message, { causedBy: 'client' });
  }
  return clip;
}

const nameOf = (selector: string) => `selector ${JSON.stringify(selector)}`;

async function missing(open: OpenPage, selector: string): Promise<ServiceError> {
  const where = await explainMiss(open, selector);
  const sentence = `${nameOf(selector)} matched no visible element within ${elementTimeoutMs} ms.`;
  const message = [sentence, where, 'Use waitFor to wait longer.'].filter((each) => each !== '').join(' ');
  return new ServiceError('CAPTURE_FAILED', message, { causedBy: 'client' });
}
