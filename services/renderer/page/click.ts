import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import { parseSelector } from '@webcapture/shared/api/selector.ts';
import { clickTimeoutMs } from '@webcapture/shared/api/option-table.ts';
import { DeadlineError } from '@webcapture/shared/runtime/deadline.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { callTimeoutMs } from './deadline.ts';
import { followMove, hasMoved } from './follow-move.ts';
import { explainMiss, refusedSelector } from './miss.ts';
import type { OpenPage } from './open.ts';
import { boxing } from './scripts/boxes.ts';
import { obstacleOf, type PointObstacle, pointToClick, type Readiness } from './scripts/clicking.ts';
import { selecting } from './scripts/selecting.ts';
import { find, inAnyDocument, missedInSilence } from './wait-for.ts';

/**
 * Clicks the elements in order, each as soon as it can be clicked. If a click starts a navigation, waits for the new document. All
 * navigations share one `timeout`.
 *
 * @throws ServiceError CAPTURE_FAILED that names the selector of an element which cannot be clicked
 */
export async function clickAll(open: OpenPage, selectors: readonly string[], options: RenderOptions): Promise<void> {
  let left = options.timeout;
  for (const selector of selectors) {
    await click(open, selector);
    if (!(await hasMoved(open))) continue;
    const start = performance.now();
    await followMove(open, { ...options, timeout: left });
    left = Math.max(1, left - (performance.now() - start));
  }
}

async function click(open: OpenPage, selector: string): Promise<void> {
  const name = `click ${JSON.stringify(selector)}`;
  await clickAt(open, await pointAt(open, selector, { name, timeoutMs: clickTimeoutMs, readiness: 'any' }));
}

interface Point {
  readonly x: number;
  readonly y: number;
}

const obstacles: Readonly<Record<PointObstacle, string>> = {
  covered: 'is covered by another element or keeps moving',
  moving: 'keeps moving',
  disabled: 'is disabled',
};

/**
 * Waits for an element, and until the pointer can reach it.
 *
 * @returns a point of the element, in CSS pixels of the viewport
 * @throws ServiceError CAPTURE_FAILED, whose message begins with `name`
 */
export async function pointAt(
  open: OpenPage,
  selector: string,
  { name, timeoutMs, readiness }: { readonly name: string; readonly timeoutMs: number; readonly readiness: Readiness },
): Promise<Point> {
  const end = performance.now() + timeoutMs;
  await untilVisible(open, selector, { name, timeoutMs });
  const point = await pointOf(open, selector, end, readiness);
  if (typeof point === 'object') return point;
  throw failed(`${name} matched an element that ${obstacles[point]}.`);
}

/**
 * Waits until a visible element matches.
 *
 * @throws ServiceError CAPTURE_FAILED, whose message begins with `name`, if none matches in time
 */
export async function untilVisible(
  open: OpenPage,
  selector: string,
  { name, timeoutMs }: { readonly name: string; readonly timeoutMs: number },
): Promise<void> {
  const found = await find(open, { selector, state: 'visible' }, timeoutMs).catch(missedInSilence);
  if (found === 'refused') throw refusedSelector(name);
  if (found === 'found') return;
  const where = await explainMiss(open, selector);
  throw failed(`${name} matched no visible element within ${timeoutMs} ms. ${where}`.trim());
}

/** Moves the pointer to a point. */
export const moveTo = (open: OpenPage, point: Point): Promise<void> => sendMouse(open, point, ['mouseMoved']);

/** Moves the pointer to a point and clicks. */
export const clickAt = (open: OpenPage, point: Point): Promise<void> =>
  sendMouse(open, point, ['mouseMoved', 'mousePressed', 'mouseReleased']);

async function sendMouse(
  { cdp, deadline }: OpenPage,
  point: Point,
  types: readonly ('mouseMoved' | 'mousePressed' | 'mouseReleased')[],
): Promise<void> {
  const sent = types.map((type) => {
    const button = type === 'mouseMoved' ? {} : ({ button: 'left', clickCount: 1 } as const);
    return cdp.send('Input.dispatchMouseEvent', { ...point, ...button, type });
  });
  await deadline.run(Promise.all(sent), callTimeoutMs, 'the click').catch((error: unknown) => {
    // The page is busy with the effects of the click.
    if (!(error instanceof DeadlineError)) throw error;
  });
}

async function pointOf(
  { world }: OpenPage,
  selector: string,
  end: number,
  readiness: Readiness,
): Promise<Point | PointObstacle> {
  try {
    const found = await inAnyDocument(end, (left) => {
      const limit = { timeoutMs: left + callTimeoutMs, what: 'the point to click' };
      const helpers = [...selecting, ...boxing, obstacleOf];
      return world.call(pointToClick, [parseSelector(selector), left, readiness], limit, helpers);
    });
    return found ?? 'covered';
  } catch (error) {
    if (error instanceof DeadlineError) return 'covered';
    throw error;
  }
}

const failed = (message: string) => new ServiceError('CAPTURE_FAILED', message, { causedBy: 'client' });
