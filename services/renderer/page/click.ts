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
import { pointToClick } from './scripts/clicking.ts';
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
  const { cdp, deadline } = open;
  const name = `click ${JSON.stringify(selector)}`;
  const end = performance.now() + clickTimeoutMs;
  const found = await find(open, { selector, state: 'visible' }, clickTimeoutMs).catch(missedInSilence);
  if (found === 'refused') throw refusedSelector(name);
  if (found === 'missed') {
    const where = await explainMiss(open, selector);
    throw failed(`${name} matched no visible element within ${clickTimeoutMs} ms. ${where}`.trim());
  }
  const point = await pointOf(open, selector, end);
  if (point === null) throw failed(`${name} matched an element that is covered by another element or keeps moving.`);
  const press = { ...point, button: 'left', clickCount: 1 } as const;
  const clicked = Promise.all([
    cdp.send('Input.dispatchMouseEvent', { ...point, type: 'mouseMoved' }),
    cdp.send('Input.dispatchMouseEvent', { ...press, type: 'mousePressed' }),
    cdp.send('Input.dispatchMouseEvent', { ...press, type: 'mouseReleased' }),
  ]);
  await deadline.run(clicked, callTimeoutMs, 'the click').catch((error: unknown) => {
    // The page is busy with the effects of the click.
    if (!(error instanceof DeadlineError)) throw error;
  });
}

async function pointOf({ world }: OpenPage, selector: string, end: number) {
  try {
    return await inAnyDocument(end, (left) => {
      const limit = { timeoutMs: left + callTimeoutMs, what: 'the point to click' };
      return world.call(pointToClick, [parseSelector(selector), left], limit, [...selecting, ...boxing]);
    });
  } catch (error) {
    if (error instanceof DeadlineError) return null;
    throw error;
  }
}

const failed = (message: string) => new ServiceError('CAPTURE_FAILED', message, { causedBy: 'client' });
