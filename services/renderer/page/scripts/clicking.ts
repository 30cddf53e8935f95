/// <reference lib="dom" />
import type { ParsedSelector } from '@webcapture/shared/api/selector.ts';
import type {
  boxOf as BoxOf,
  hitsAt as HitsAt,
  isVisible as IsVisible,
  levelsOf as LevelsOf,
  scrollToBox as ScrollToBox,
  throughFrame as ThroughFrame,
} from './boxes.ts';
import type { holds as Holds, selectAll as SelectAll } from './selecting.ts';
import type { PageWaits } from './waits.ts';

declare const waits: PageWaits;
/** Helpers of the call. */
declare const boxOf: typeof BoxOf;
declare const hitsAt: typeof HitsAt;
declare const holds: typeof Holds;
declare const isVisible: typeof IsVisible;
declare const levelsOf: typeof LevelsOf;
declare const scrollToBox: typeof ScrollToBox;
declare const selectAll: typeof SelectAll;
declare const throughFrame: typeof ThroughFrame;

/**
 * Scrolls to the first visible match, and waits until a click would reach it.
 *
 * @returns a point of the element, in CSS pixels of the viewport; null if the element stays covered until the timeout
 */
export async function pointToClick(parts: ParsedSelector, timeoutMs: number): Promise<{ x: number; y: number } | null> {
  const lookIntervalMs = 100;
  const end = performance.now() + timeoutMs;
  for (;;) {
    const element = selectAll(parts, { enters: isVisible }).elements.find(isVisible);
    if (element !== undefined) {
      scrollToBox(element, 'center', 'center');
      await waits.untilFrame(lookIntervalMs);
      const levels = levelsOf(element);
      const box = boxOf(element);
      for (const share of [0.5, 0.25, 0.75]) {
        let point = new DOMRect(box.left + box.width * share, box.top + box.height * 0.5);
        let isReached = true;
        for (const [index, { document: shown, target }] of levels.entries()) {
          if (index > 0) point = throughFrame(target, point);
          const hit = hitsAt(shown, point.x, point.y)[0];
          isReached &&= hit !== undefined && holds(target, hit);
        }
        if (isReached) return { x: point.x, y: point.y };
      }
    }
    if (performance.now() >= end) return null;
    await waits.sleep(lookIntervalMs);
  }
}
