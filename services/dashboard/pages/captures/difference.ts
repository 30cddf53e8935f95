import { comparePictures, type Difference, type Pixels } from '@webcapture/shared/files/picture-difference.ts';

export type { Difference, Pixels };

/** Most pixels that are compared: the page stands still meanwhile, for a part of a second, and canvases have limits. */
export const maxComparedPixels = 4_000_000;

/** Longest side of a canvas that every browser draws. */
const maxSide = 16_000;

/** The factor, at most 1, that makes both pictures fit the limits: the same for both, so that they stay comparable. */
export function comparisonScale(sizes: readonly { readonly width: number; readonly height: number }[]): number {
  const width = Math.max(...sizes.map((size) => size.width));
  const height = Math.max(...sizes.map((size) => size.height));
  return Math.min(1, Math.sqrt(maxComparedPixels / (width * height)), maxSide / width, maxSide / height);
}

const color = [214, 0, 80] as const;

/** @param threshold 0 to 1: how far two colours must be apart; smaller finds more */
export const differenceOf = (before: Pixels, after: Pixels, threshold: number): Difference =>
  comparePictures(before, after, { threshold, changedColor: color, outsideColor: color });
