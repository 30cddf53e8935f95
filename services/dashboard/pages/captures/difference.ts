import pixelmatch from 'pixelmatch';

/** RGBA, four bytes a pixel, row by row: an ImageData, or what stands for one. */
export interface Pixels {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8ClampedArray;
}

export interface Difference {
  /** As large as both pictures together: unchanged pixels pale, changed ones in red. */
  readonly picture: Pixels;
  readonly changedPixels: number;
  /** Of the area of the difference picture, 0 to 1. */
  readonly changedShare: number;
}

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

const changedColor = [214, 0, 80] as const;

/**
 * Compares two pictures from their top left corner. What only one of them covers counts as changed.
 *
 * @param threshold 0 to 1: how different two colours must be; smaller finds more
 */
export function differenceOf(before: Pixels, after: Pixels, threshold: number): Difference {
  const width = Math.max(before.width, after.width);
  const height = Math.max(before.height, after.height);
  const shared = { width: Math.min(before.width, after.width), height: Math.min(before.height, after.height) };
  const overlap = new Uint8ClampedArray(shared.width * shared.height * 4);
  const changedInside = pixelmatch(
    cropped(before, shared),
    cropped(after, shared),
    overlap,
    shared.width,
    shared.height,
    { threshold, diffColor: [...changedColor] },
  );
  const data = new Uint8ClampedArray(width * height * 4);
  new Uint32Array(data.buffer).fill(new Uint32Array(new Uint8Array([...changedColor, 255]).buffer)[0] ?? 0);
  for (let row = 0; row < shared.height; row++) {
    data.set(overlap.subarray(row * shared.width * 4, (row + 1) * shared.width * 4), row * width * 4);
  }
  const changedPixels = changedInside + width * height - shared.width * shared.height;
  return { picture: { width, height, data }, changedPixels, changedShare: changedPixels / (width * height) };
}

function cropped(pixels: Pixels, { width, height }: { width: number; height: number }): Uint8ClampedArray {
  if (pixels.width === width) return pixels.data.subarray(0, width * height * 4);
  const data = new Uint8ClampedArray(width * height * 4);
  for (let row = 0; row < height; row++) {
    const start = row * pixels.width * 4;
    data.set(pixels.data.subarray(start, start + width * 4), row * width * 4);
  }
  return data;
}
