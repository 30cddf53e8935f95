import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { OpenPage } from './open.ts';
import { loadEagerly } from './scripts/assets.ts';
import { type Box, isolateElement, scrollToElement } from './scripts/element.ts';
import { isVisible } from './scripts/finding.ts';
import { find, refusedSelector } from './wait-for.ts';

/** What is taken of a page, in place of its viewport. */
export interface Part extends Box {
  /** Some of it is out of sight. */
  readonly isBeyondView: boolean;
}

/** For the element to be there; who knows that it takes longer asks to wait for it. */
const elementTimeoutMs = 5000;
const callTimeoutMs = 5000;
/** To the end of a tall element. */
const scrollTimeoutMs = 15_000;

/** Whether a part of the page is asked for. */
export const asksForPart = ({ selector }: RenderOptions): boolean => selector !== undefined;

/**
 * Brings the part that was asked for into sight, with what loads on the way there.
 *
 * @returns whether it is larger than the viewport
 * @throws ServiceError CAPTURE_FAILED where there is no such part
 */
export async function showPart(open: OpenPage, { selector }: RenderOptions): Promise<boolean> {
  if (selector === undefined) return false;
  const { world } = open;
  const found = await find(open, { selector, state: 'visible' }, elementTimeoutMs);
  if (found === 'refused') throw refusedSelector(nameOf(selector));
  if (found === 'missed') throw missing(selector);
  const limit = { timeoutMs: scrollTimeoutMs, what: 'scrolling to the element' };
  const isLarge = await world.call(scrollToElement, [selector], limit, [isVisible]);
  if (isLarge) await world.call(loadEagerly, [], { timeoutMs: callTimeoutMs, what: 'loading' });
  return isLarge;
}

/**
 * Clears the view of the part that was asked for, and tells where it is. Waits for nothing in the page, so that it can be called in
 * one whose scripts have been ended.
 *
 * @throws ServiceError CAPTURE_FAILED where there is no such part
 */
export async function framePart({ world }: OpenPage, options: RenderOptions): Promise<Part | undefined> {
  const { selector, elementPadding = 0 } = options;
  if (selector === undefined) return undefined;
  const limit = { timeoutMs: callTimeoutMs, what: 'the element' };
  const box = await world.call(isolateElement, [selector, elementPadding], limit, [isVisible]);
  if (box === null) throw missing(selector);
  return box;
}

const nameOf = (selector: string) => `selector ${JSON.stringify(selector)}`;

function missing(selector: string): ServiceError {
  const message = `${nameOf(selector)} matched no visible element within ${elementTimeoutMs} ms. waitFor can wait longer.`;
  return new ServiceError('CAPTURE_FAILED', message);
}
