import { comparePictures, type Difference, type Pixels } from '@webcapture/shared/files/picture-difference.ts';

const color = [214, 0, 80] as const;

/** @param threshold minimum difference of two colors, from 0 to 1; a smaller value finds more differences */
export const differenceOf = (before: Pixels, after: Pixels, threshold: number): Difference =>
  comparePictures(before, after, { threshold, changedColor: color, outsideColor: color });
