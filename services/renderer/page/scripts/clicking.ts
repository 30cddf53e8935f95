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
import type { own as Own } from './own.ts';
import type { holds as Holds, selectAll as SelectAll } from './selecting.ts';
import type { PageWaits } from './waits.ts';

declare const waits: PageWaits;
declare const own: typeof Own;
/** Functions that the caller sends to the page together with the functions of this file. */
declare const boxOf: typeof BoxOf;
declare const hitsAt: typeof HitsAt;
declare const holds: typeof Holds;
declare const isVisible: typeof IsVisible;
declare const levelsOf: typeof LevelsOf;
declare const scrollToBox: typeof ScrollToBox;
declare const selectAll: typeof SelectAll;
declare const throughFrame: typeof ThroughFrame;

/** Why the pointer cannot use an element. */
export type PointObstacle = 'covered' | 'moving' | 'disabled';

/** Required state of an element for the pointer: any, not moving, or neither moving nor disabled. */
export type Readiness = 'any' | 'still' | 'enabled';

/** Returns why an element is not ready for the pointer; null if it is ready. */
export async function obstacleOf(element: Element, readiness: Readiness): Promise<PointObstacle | null> {
  const frameTimeoutMs = 100;
  if (readiness === 'any') return null;
  const control = own(element).closest('button, input, select, textarea, [aria-disabled]');
  const isDisabled = control !== null && own(control).matches(':disabled, [aria-disabled="true"]');
  if (readiness === 'enabled' && isDisabled) return 'disabled';
  const before = boxOf(element);
  await waits.untilFrame(frameTimeoutMs);
  const after = boxOf(element);
  const sides = ['left', 'top', 'width', 'height'] as const;
  return sides.every((side) => before[side] === after[side]) ? null : 'moving';
}

/**
 * Scrolls to the first visible match, and waits until a click would reach it.
 *
 * @returns a point of the element, in CSS pixels of the viewport; or, if the time is over, the obstacle
 */
export async function pointToClick(
  parts: ParsedSelector,
  timeoutMs: number,
  readiness: Readiness,
): Promise<{ x: number; y: number } | PointObstacle> {
  let obstacle: PointObstacle = 'covered';
  const lookIntervalMs = 100;
  const end = performance.now() + timeoutMs;
  for (;;) {
    const element = selectAll(parts, { enters: isVisible }).elements.find(isVisible);
    if (element !== undefined) {
      scrollToBox(element, 'center', 'center');
      await waits.untilFrame(lookIntervalMs);
      const unready = await obstacleOf(element, readiness);
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
        if (isReached && unready === null) return { x: point.x, y: point.y };
      }
      obstacle = unready ?? 'covered';
    }
    if (performance.now() >= end) return obstacle;
    await waits.sleep(lookIntervalMs);
  }
}
