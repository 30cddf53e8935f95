import { comparePictures, type Difference, type Pixels } from '@webcapture/shared/files/picture-difference.ts';

export interface PicturePair {
  readonly before: Pixels;
  readonly after: Pixels;
  readonly threshold: number;
}

const changedColor = [214, 0, 80] as const;

/** Runs in a separate thread, because comparing pictures that differ much takes a second. */
export default function compareLarge({ before, after, threshold }: PicturePair): Difference {
  return comparePictures(before, after, { threshold, changedColor, outsideColor: changedColor });
}
