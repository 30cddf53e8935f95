/// <reference lib="dom" />
import type { PageActivity } from './activity.ts';
import type { PageState } from './state.ts';
import type { PageWaits } from './waits.ts';

declare const activity: PageActivity;
declare const waits: PageWaits;
declare const pageState: PageState;

/** A number that tells two drawings of a canvas apart; 0 for an empty one. One that cannot be read has always the same. */
export function fingerprintCanvas(canvas: HTMLCanvasElement): number {
  /** In pixels. Reading a larger picture takes longer, at each look. */
  const side = 96;
  const unreadable = -1;
  if (canvas.width === 0 || canvas.height === 0) return unreadable;
  const smaller = () => {
    const small = document.createElement('canvas');
    small.width = small.height = side;
    return small.getContext('2d', { willReadFrequently: true });
  };
  const context = (pageState.webcaptureScratch ??= smaller());
  if (context === null) return unreadable;
  try {
    context.clearRect(0, 0, side, side);
    context.drawImage(canvas, 0, 0, side, side);
    const words = new Uint32Array(context.getImageData(0, 0, side, side).data.buffer);
    let hash = 0;
    // A loop: it runs before its code is compiled, when a call for each pixel would take longer than all else. What is black differs in the
    // highest bits only, which the shift spreads.
    for (let index = 0; index < words.length; index += 1) {
      hash = Math.imul(hash ^ (words[index] ?? 0), 0x01000193);
      hash ^= hash >>> 15;
    }
    return hash;
  } catch {
    // What holds pictures of another site cannot be read, nor can what it was drawn on.
    delete pageState.webcaptureScratch;
    return unreadable;
  }
}

/**
 * Waits until the canvases of the document have come to rest: charts draw themselves in over a second or so. What never rests is not
 * waited for longer than `maxMs`, and not at all if it was seen before to have no end.
 */
export async function waitForCanvases(maxMs: number): Promise<void> {
  /** Frames between two looks: enough for a moving drawing to change. */
  const framesBetween = 3;
  /** A page that draws nothing is looked at all the same. */
  const maxFrameMs = 50;
  /** Time for an empty canvas: some scripts draw only after scrolling has ended. */
  const firstDrawMs = 600;
  /** A canvas whose drawing has not changed for this time is at rest. */
  const quietMs = 500;

  const { webcaptureChanges } = pageState;
  const isEndless = (canvas: HTMLCanvasElement) => {
    const motion = webcaptureChanges?.motions.get(canvas);
    return motion !== undefined && motion.last - motion.since > maxMs;
  };
  const canvases = [...document.querySelectorAll('canvas')].filter(
    (canvas) => canvas.width > 0 && canvas.height > 0 && canvas.checkVisibility() && !isEndless(canvas),
  );
  if (canvases.length === 0) return;
  /** What lies upon another canvas waits for the pointer. */
  const liesUponAnother = (canvas: HTMLCanvasElement) => {
    const { top, left } = canvas.getBoundingClientRect();
    return canvases.some((other) => {
      const box = other.getBoundingClientRect();
      return other !== canvas && box.top === top && box.left === left;
    });
  };
  const isDrawing = () =>
    webcaptureChanges?.isIdle !== true && activity.due()?.some(({ kind }) => kind.endsWith('Frame')) === true;

  const start = performance.now();
  const first = canvases.map(fingerprintCanvas);
  /** Indexes. */
  const empty =
    document.scripts.length === 0
      ? []
      : canvases.flatMap((canvas, index) => (first[index] === 0 && !liesUponAnother(canvas) ? [index] : []));
  let last = first.join();
  let lastChange = start;
  while (performance.now() < start + maxMs) {
    for (let frame = 0; frame < framesBetween; frame += 1) {
      await waits.untilFrame(maxFrameMs);
    }
    const prints = canvases.map(fingerprintCanvas);
    const print = prints.join();
    const now = performance.now();
    const isDrawn = empty.every((index) => prints[index] !== 0) || now - start >= firstDrawMs;
    if (print === last && isDrawn && (now - lastChange >= quietMs || !isDrawing())) return;
    if (print !== last) lastChange = now;
    last = print;
  }
}
