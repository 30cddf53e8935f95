/// <reference lib="dom" />
import type { ParsedSelector } from '@webcapture/shared/api/selector.ts';
import type {
  boxesAtLevels as BoxesAtLevels,
  boxOf as BoxOf,
  isVisible as IsVisible,
  levelsOf as LevelsOf,
} from './boxes.ts';
import type { Box } from './element.ts';
import type { measurePage as MeasurePage } from './measures.ts';
import type { selectAll as SelectAll } from './selecting.ts';

/** Functions that the caller sends to the page together with the functions of this file. */
declare const boxesAtLevels: typeof BoxesAtLevels;
declare const boxOf: typeof BoxOf;
declare const isVisible: typeof IsVisible;
declare const levelsOf: typeof LevelsOf;
declare const measurePage: typeof MeasurePage;
declare const selectAll: typeof SelectAll;

/** Boxes in the viewport, and its position in the document, in CSS pixels. */
export interface IgnoredBoxes {
  readonly boxes: readonly Box[];
  readonly x: number;
  readonly y: number;
}

/**
 * Returns the boxes of the visible elements that match one of the selectors, at most `maxBoxes`. If the browser does not support a
 * selector, returns its index instead.
 */
export function measureIgnored(selectors: readonly ParsedSelector[], maxBoxes: number): IgnoredBoxes | number {
  const boxes: Box[] = [];
  for (const [index, parts] of selectors.entries()) {
    try {
      for (const element of selectAll(parts, { enters: isVisible }).elements) {
        if (boxes.length === maxBoxes) break;
        if (!isVisible(element)) continue;
        const { x, y, width, height } = boxesAtLevels(element, levelsOf(element)).at(-1) ?? boxOf(element);
        boxes.push({ x, y, width, height });
      }
    } catch (error) {
      if (error instanceof DOMException) return index;
      throw error;
    }
  }
  return { boxes, x: scrollX + measurePage().left, y: scrollY };
}
