import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import { DeadlineError } from '@webcapture/shared/runtime/deadline.ts';
import { DocumentGoneError } from '../browser/isolated-world.ts';
import type { AddedStyle } from './client-code.ts';
import { followMove } from './follow-move.ts';
import { keepHidden } from './hiding.ts';
import { throwIfLost } from './navigate.ts';
import { asLaidOut, type OpenPage, stopPage } from './open.ts';
import { framePart } from './part.ts';
import { countImages, hasSource } from './scripts/assets.ts';
import { measurePage } from './scripts/measures.ts';
import { settle, type SettleState, type Settled } from './settle.ts';
import { maxCssHeight } from './size-limits.ts';

/** Maximum number of documents that are followed while the page settles. */
const maxMoves = 5;

/** For the answer of a page that is being stopped. */
const stopTimeoutMs = 3000;

/**
 * Settles the page, as {@link settle} does. A page that moves on meanwhile is followed, and the document at which it ends is settled. One
 * that does not end, or does not answer, is stopped, and taken as it is.
 *
 * @throws DeadlineError when the page does not answer even after it was stopped
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
      await open.emulation.unflatten();
      await followMove(open, options);
    }
  }
}

/** The next document comes without its scripts, so that it stays. */
async function stopMoving(open: OpenPage, options: RenderOptions, style?: AddedStyle): Promise<Settled> {
  const { cdp, deadline } = open;
  await deadline.run(
    cdp.send('Emulation.setScriptExecutionDisabled', { value: true }),
    stopTimeoutMs,
    'stopping the scripts',
  );
  await followMove(open, options);
  return interrupt(open, options, style);
}

/**
 * Stops a page that keeps itself busy for ever, with scripts, frames or new addresses: it can then be taken as it
 * stands.
 *
 * @throws DeadlineError when the page does not answer even so
 */
async function interrupt(open: OpenPage, options: RenderOptions, style?: AddedStyle): Promise<Settled> {
  const { world } = open;
  await stopPage(open);
  await style?.keep();
  await keepHidden(open, options);
  // Nothing that waits runs in such a page any more, not even of ours.
  const { height: whole, left } = await world.callInAny(measurePage, [], {
    timeoutMs: stopTimeoutMs,
    what: 'measuring',
  });
  const images = await world.callInAny(countImages, [], { timeoutMs: stopTimeoutMs, what: 'counting images' }, [
    hasSource,
  ]);
  const height = Math.min(whole, maxCssHeight(options.format, options.viewport.deviceScaleFactor));
  return {
    part: await framePart(open, options),
    images,
    softTimeouts: ['settle'],
    whole: options.isFullPage
      ? { height, left, truncated: whole > height, strategy: 'grown', isLocked: false }
      : undefined,
  };
}
