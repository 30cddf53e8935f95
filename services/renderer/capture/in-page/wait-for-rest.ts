/// <reference lib="dom" />
import type { PageState } from './page-state.ts';

/**
 * Waits until scripts have come to the end of the animations that they make change by change (fading in, counting up),
 * and of images that they are about to name. What they have changed for longer than `mostMs` will not come to an end,
 * and is not waited for.
 */
export async function waitForRest(mostMs: number): Promise<void> {
  const lookEveryMs = 20;
  /** Without a change in so many looks and frames it is over: a busy machine is late with these as it is with the changes. */
  const restLooks = 5;
  const restFrames = 3;
  /** A page that is not drawn at all has its rest after this. */
  const mostRestMs = 1000;

  const looks: number[] = [];
  const frames: number[] = [];
  const drawn = () => {
    frames.unshift(performance.now());
    request = requestAnimationFrame(drawn);
  };
  let request = requestAnimationFrame(drawn);
  const isAtRest = (last: number) =>
    performance.now() - last >= mostRestMs ||
    ((looks[restLooks - 1] ?? 0) > last && (frames[restFrames - 1] ?? 0) > last);
  const isMoving = () => {
    for (const { since, last, times } of (globalThis as PageState).webcaptureMotion?.nodes.values() ?? []) {
      if (times > 1 && last - since < mostMs && !isAtRest(last)) return true;
    }
    return false;
  };
  /** As loaders of lazy images mark those that they have yet to show. */
  const marked = ':is([data-src], [data-srcset], [data-lazy-src], [data-original])';
  const unnamed = [...document.querySelectorAll<HTMLImageElement>(`img${marked}, picture:has(${marked}) > img`)];
  const isUnnamed = (image: HTMLImageElement) =>
    image.isConnected &&
    (image.currentSrc === '' || image.currentSrc.startsWith('data:')) &&
    (image.src === '' || image.src.startsWith('data:')) &&
    image.checkVisibility();

  const end = performance.now() + mostMs;
  while ((isMoving() || unnamed.some(isUnnamed)) && performance.now() < end) {
    await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
    looks.unshift(performance.now());
  }
  cancelAnimationFrame(request);
}
