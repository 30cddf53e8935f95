/// <reference lib="dom" />
import type { mayChangeWithin as MayChangeWithin, PageActivity } from './activity.ts';
import type { movesEndlessly as MovesEndlessly } from './motion.ts';
import type { PageState } from './state.ts';
import type { PageWaits } from './waits.ts';

declare const activity: PageActivity;
declare const waits: PageWaits;
declare const pageState: PageState;
/** Functions that the caller sends to the page together with {@link waitForCanvases}. */
declare const mayChangeWithin: typeof MayChangeWithin;
declare const movesEndlessly: typeof MovesEndlessly;

/** Returns a hash of a canvas's drawing: 0 if it is empty, -1 if it cannot be read. */
export function fingerprintCanvas(canvas: HTMLCanvasElement): number {
  /** Side of the picture that is read, in pixels. A larger picture would take more time at each poll. */
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
    // This is a plain loop, because it runs before the code is compiled, when calling a function for each pixel would take most of the
    // time. The shift spreads the highest bits, because dark drawings differ only in them.
    for (let index = 0; index < words.length; index += 1) {
      hash = Math.imul(hash ^ (words[index] ?? 0), 0x01000193);
      hash ^= hash >>> 15;
    }
    return hash;
  } catch {
    // A canvas with pictures of another origin cannot be read. The scratch canvas onto which it was drawn cannot be read any more either.
    delete pageState.webcaptureScratch;
    return unreadable;
  }
}

/**
 * Waits until the canvases of the document have settled. Charts take about a second to draw. Waits at most `maxMs`. Canvases that were
 * found to be endless earlier are not waited for.
 *
 * @param mayEndEarly whether empty canvases are waited for only while something is due that may draw on them; only if no requests are open
 */
export async function waitForCanvases(maxMs: number, mayEndEarly: boolean): Promise<void> {
  /** Number of frames between two polls. An animated drawing changes within them. */
  const framesBetween = 3;
  /** Poll interval for a page that draws no frames. */
  const maxFrameMs = 50;
  /** Time for the first drawing on an empty canvas. Some scripts draw only after scrolling has ended. */
  const firstDrawMs = 600;
  /** Minimum time for it, because observers and events may call scripts, too. */
  const minDrawMs = 200;
  /** Time without a change after which a canvas has settled. */
  const quietMs = 500;

  const { webcaptureChanges } = pageState;
  const canvases = [...document.querySelectorAll('canvas')].filter(
    (canvas) => canvas.width > 0 && canvas.height > 0 && canvas.checkVisibility() && !movesEndlessly(canvas),
  );
  if (canvases.length === 0) return;
  /** A canvas on top of another one is often empty until the pointer moves. */
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
  /** Indexes of the empty canvases. */
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
    const left = start + firstDrawMs - now;
    const canBeDrawn = left > 0 && !(mayEndEarly && now - start >= minDrawMs && !mayChangeWithin(left));
    const isDrawn = !canBeDrawn || empty.every((index) => prints[index] !== 0);
    if (print === last && isDrawn && (now - lastChange >= quietMs || !isDrawing())) return;
    if (print !== last) lastChange = now;
    last = print;
  }
}
