import { callTimeoutMs } from './deadline.ts';
import type { OpenPage } from './open.ts';
import { findFrames, putFrameBack, showFrame } from './scripts/frame-shots.ts';
import { everyElement } from './scripts/tree.ts';

/** Time limit for all frames of a page together. One frame takes about 100 ms. */
const budgetMs = 6000;
/** Maximum height, in viewports, of which pictures are taken in one frame. */
const maxPieces = 10;

/** A picture of a piece of a frame, and its position in the page in CSS pixels. */
export interface FramePiece<T> {
  readonly x: number;
  readonly y: number;
  readonly picture: T;
}

/**
 * Takes pictures of frames of other origins outside the viewport. Another process renders such a frame, and draws only the part in the
 * viewport. Therefore each frame is moved into the viewport for a moment.
 *
 * @param take takes a picture of a part of the viewport
 */
export async function takeFrames<T>(
  { world, emulation }: OpenPage,
  take: (clip: { readonly width: number; readonly height: number }) => Promise<T>,
): Promise<FramePiece<T>[]> {
  const limit = (what: string) => ({ timeoutMs: callTimeoutMs, what });
  const boxes = await world.call(findFrames, [], limit('frames'), [everyElement]);
  const end = performance.now() + budgetMs;
  const pieces: FramePiece<T>[] = [];
  for (const [index, { x, y, width, height, innerX, innerY }] of boxes.entries()) {
    const step = emulation.viewport.height;
    for (let at = 0; at < height && at < step * maxPieces && performance.now() < end; at += step) {
      await world.call(showFrame, [index, innerX, innerY + at], limit('showing a frame'));
      const picture = await take({ width, height: Math.min(step, height - at) });
      pieces.push({ x, y: y + at, picture });
      await world.call(putFrameBack, [index], limit('putting a frame back'));
    }
  }
  return pieces;
}
