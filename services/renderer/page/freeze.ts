import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import { freezeTimeoutMs } from '@webcapture/shared/api/option-table.ts';
import { frozenClockScript, loopsQuestion } from '../browser/frozen-clock.ts';
import { callTimeoutMs } from './deadline.ts';
import type { OpenPage } from './open.ts';
import { finishAnimations, pauseAnimations, rewindAnimations, showPulsing } from './scripts/animations.ts';
import { hideCaret, untilFrameLoopsEnd } from './scripts/freezing.ts';
import { step } from './world.ts';

/** Freezes the clock and the random numbers in all documents of the page from now on. */
export async function freezeClocks(
  { page }: OpenPage,
  { time, random }: NonNullable<RenderOptions['freeze']>,
): Promise<void> {
  await page.addInitScript({ content: frozenClockScript(Date.parse(time), random) });
}

/**
 * Stops what still moves in the page and its frames: waits for the end of frame loops, sets animations to a fixed time, and hides the text
 * cursor.
 *
 * @returns whether the loops of the page have ended
 * @throws DeadlineError if the page does not respond
 */
export async function stopMotion({ world, frames }: OpenPage): Promise<boolean> {
  const limit = { timeoutMs: freezeTimeoutMs + callTimeoutMs, what: 'frame loops' };
  const steps = [
    step(untilFrameLoopsEnd, loopsQuestion, freezeTimeoutMs),
    step(hideCaret),
    step(finishAnimations),
    step(rewindAnimations),
    step(showPulsing),
    step(pauseAnimations),
  ] as const;
  const inFrames = (await frames.list()).map((frame) => frame.world.callEach(steps, limit));
  // A frame may disappear or not respond.
  const [[hasEnded]] = await Promise.all([world.callEach(steps, limit), Promise.allSettled(inFrames)]);
  return hasEnded;
}
