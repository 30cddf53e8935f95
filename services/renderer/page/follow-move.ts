import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { OpenPage } from './open.ts';

/** Waits for the document that the page moves on to, as far as `waitUntil` says; one that does not get there is taken as it stands. */
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
