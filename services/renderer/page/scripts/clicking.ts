/// <reference lib="dom" />
import type { isVisible as IsVisible } from './finding.ts';
import type { PageWaits } from './waits.ts';
import type { own as Own } from './own.ts';

declare const waits: PageWaits;
declare const own: typeof Own;
/** A helper of the call. */
declare const isVisible: typeof IsVisible;

/**
 * Scrolls to the first visible element that matches, and waits until a click would reach it.
 *
 * @returns a point of it, in CSS pixels of the viewport; null where something covers it until time is up
 */
export async function pointToClick(selector: string, timeoutMs: number): Promise<{ x: number; y: number } | null> {
  const lookIntervalMs = 100;
  const end = performance.now() + timeoutMs;
  for (;;) {
    const element = [...document.querySelectorAll(selector)].find((one) => isVisible(one));
    if (element !== undefined) {
      own(element).scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' });
      await waits.untilFrame(lookIntervalMs);
      const { left, top, width, height } = own(element).getBoundingClientRect();
      for (const share of [0.5, 0.25, 0.75]) {
        const [x, y] = [left + width * share, top + height * 0.5];
        const hit = document.elementFromPoint(x, y);
        if (hit !== null && own(element).contains(hit)) return { x, y };
      }
    }
    if (performance.now() >= end) return null;
    await waits.sleep(lookIntervalMs);
  }
}
