/// <reference lib="dom" />
import type { PageWaits } from '../../services/renderer/page/scripts/waits.ts';

declare const waits: PageWaits;

/**
 * Ends the waits of a call immediately. Time passes only by the lengths of these waits; a frame takes `frameMs`. Tests send
 * this function to a page with `ScriptPage`.
 *
 * @param onFrame runs in each frame, with the milliseconds since the call of this function
 * @returns a function that returns these milliseconds
 */
export function useClock(onFrame: (ms: number) => void = () => undefined, frameMs = 16): () => number {
  let passed = 0;
  const pass = (ms: number) => {
    passed += ms;
    onFrame(passed);
    return Promise.resolve();
  };
  // Sums of whole numbers are exact.
  const start = Math.round(performance.now());
  performance.now = () => start + passed;
  Object.assign(waits, {
    sleep: pass,
    untilFrame: () => pass(frameMs),
    waitForIntersectionObservers: () => pass(frameMs),
  });
  return () => passed;
}
