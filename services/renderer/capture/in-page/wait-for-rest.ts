/// <reference lib="dom" />
import type { PageState } from './page-state.ts';

/**
 * Waits until scripts have come to the end of the animations that they make change by change (fading in, counting up),
 * and of images that they are about to name. What they have changed for longer than `mostMs` will not come to an end,
 * and is not waited for.
 */
export async function waitForRest(mostMs: number): Promise<void> {
  const lookEveryMs = 20;
  /** Without a change for so long it is over. */
  const restMs = 100;
  const isMoving = () => {
    const now = performance.now();
    for (const { since, last, times } of (globalThis as PageState).webcaptureMotion?.nodes.values() ?? []) {
      if (times > 1 && now - last < restMs && last - since < mostMs) return true;
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
  }
}
