import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import { DeadlineError } from '@webcapture/shared/runtime/deadline.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { DocumentGoneError } from '../browser/isolated-world.ts';
import { callTimeoutMs } from './deadline.ts';
import type { OpenPage } from './open.ts';
import { untilFrames } from './scripts/waits.ts';

/** Returns whether an action on the page has started a navigation. The page reports a navigation within two frames. */
export async function hasMoved({ world, document }: OpenPage): Promise<boolean> {
  try {
    await world.call(untilFrames, [2], { timeoutMs: callTimeoutMs, what: 'frames' });
    return document.moving;
  } catch (error) {
    if (error instanceof DocumentGoneError) return true;
    if (error instanceof DeadlineError) return document.moving;
    throw error;
  }
}

/** Waits until the page's next document has reached `waitUntil`. If that takes too long, the capture continues with what has loaded. */
export async function followMove(
  open: OpenPage,
  { timeout, waitUntil }: Pick<RenderOptions, 'timeout' | 'waitUntil'>,
): Promise<void> {
  const { page, document, deadline } = open;
  const state = waitUntil === 'commit' ? 'domcontentloaded' : waitUntil;
  try {
    await deadline.run(document.settled(), timeout, 'the next page');
    const there = page.waitForLoadState(state, { timeout });
    await deadline.run(Promise.race([there, document.cutOff]), timeout, 'the next page');
  } catch (error) {
    if (error instanceof ServiceError) throw error;
  }
}
