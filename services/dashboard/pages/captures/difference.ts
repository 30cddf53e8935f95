import { comparePictures, type Difference, type Pixels } from '@webcapture/shared/files/picture-difference.ts';

export type { Difference, Pixels };

/** Maximum number of compared pixels: the comparison blocks the page for a fraction of a second, and canvases have limits. */
export const maxComparedPixels = 4_000_000;

/** Longest side of a canvas that every browser can draw. */
const maxSide = 16_000;

/** Returns the factor, at most 1, that fits both pictures into the limits. It is the same for both, so that they can be compared. */
export function comparisonScale(sizes: readonly { readonly width: number; readonly height: number }[]): number {
  const width = Math.max(...sizes.map((size) => size.width));
  const height = Math.max(...sizes.map((size) => size.height));
  return Math.min(1, Math.sqrt(maxComparedPixels / (width * height)), maxSide / width, maxSide / height);
}

const color = [214, 0, 80] as const;

/** @param threshold minimum difference of two colors, from 0 to 1; a smaller value finds more differences */
export const differenceOf = (before: Pixels, after: Pixels, threshold: number): Difference =>
  comparePictures(before, after, { threshold, changedColor: color, outsideColor: color });
