import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import { DeadlineError } from '@webcapture/shared/runtime/deadline.ts';
import { DocumentGoneError } from '../browser/isolated-world.ts';
import type { AddedStyle } from './client-code.ts';
import { callTimeoutMs } from './deadline.ts';
import { followMove } from './follow-move.ts';
import { keepHidden } from './hiding.ts';
import { throwIfLost } from './navigate.ts';
import { asLaidOut, type OpenPage, stopPage } from './open.ts';
import { measureRegion } from './region.ts';
import { countImages, counting } from './scripts/assets.ts';
import { measurePage } from './scripts/measures.ts';
import { settle, type SettleState, type Settled } from './settle.ts';
import { maxCssHeight } from './size-limits.ts';

/** Maximum number of navigations that are followed while the page settles. */
const maxMoves = 5;

/**
 * Settles the page, as {@link settle} does. If the page navigates meanwhile, settles its last document. A page that keeps navigating, or
 * does not respond, is stopped and captured in its current state.
 *
 * @throws DeadlineError if the page does not respond even after it was stopped
 */
export async function settleWhereItEnds(open: OpenPage, options: RenderOptions, state: SettleState): Promise<Settled> {
  for (let moves = 0; ; moves += 1) {
    try {
      throwIfLost(open);
      const settled = await settle(open, options, state);
      throwIfLost(open);
      return settled;
    } catch (error) {
      if (error instanceof DeadlineError) return interrupt(open, asLaidOut(open, options), state.style);
      if (!(error instanceof DocumentGoneError)) throw error;
      if (moves === maxMoves) return stopMoving(open, options, state.style);
      await open.emulation.useMobileMetrics();
      await followMove(open, options);
    }
  }
}

/** Loads the next document without scripts, so that it cannot navigate again. */
async function stopMoving(open: OpenPage, options: RenderOptions, style?: AddedStyle): Promise<Settled> {
  const { cdp, deadline } = open;
  await deadline.run(
    cdp.send('Emulation.setScriptExecutionDisabled', { value: true }),
    callTimeoutMs,
    'stopping the scripts',
  );
  await followMove(open, options);
  return interrupt(open, options, style);
}

/**
 * Stops a page that keeps itself busy with scripts, frames or navigations, so that its current state can be captured.
 *
 * @throws DeadlineError if the page still does not respond
 */
async function interrupt(open: OpenPage, options: RenderOptions, style?: AddedStyle): Promise<Settled> {
  const { world } = open;
  await stopPage(open);
  await style?.keep();
  await keepHidden(open, options);
  // Asynchronous functions no longer run in such a page, including ours.
  const { height: contentHeight, left } = await world.callInAny(measurePage, [], {
    timeoutMs: callTimeoutMs,
    what: 'measuring',
  });
  const images = await world.callInAny(
    countImages,
    [],
    { timeoutMs: callTimeoutMs, what: 'counting images' },
    counting,
  );
  const height = Math.min(contentHeight, maxCssHeight(options.format, options.viewport.deviceScaleFactor));
  return {
    region: await measureRegion(open, options),
    images,
    softTimeouts: ['settle'],
    fullPage: options.isFullPage
      ? { height, left, truncated: contentHeight > height, strategy: 'grown', isLocked: false }
      : undefined,
  };
}
