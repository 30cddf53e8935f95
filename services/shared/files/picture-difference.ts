import pixelmatch from 'pixelmatch';

/** Pixels in RGBA, four bytes a pixel, row by row. An ImageData has this form. */
export interface Pixels {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8Array | Uint8ClampedArray;
}

export interface Difference {
  /**
   * The picture of the differences. It is large enough for both pictures. Unchanged pixels are pale, and changed ones have the requested
   * colors.
   */
  readonly picture: Pixels;
  readonly changedPixels: number;
  /** Share of the area of the picture of the differences that has changed, 0 to 1. */
  readonly changedShare: number;
}

/** Red, green and blue, 0 to 255. */
type Color = readonly [red: number, green: number, blue: number];

interface ComparisonOptions {
  /** Minimum distance of two colors that count as different, 0 to 1. A smaller value finds more differences. */
  readonly threshold: number;
  readonly changedColor: Color;
  /** Color of areas that belong to only one of the pictures. */
  readonly outsideColor: Color;
}

/**
 * Compares two pictures that are aligned at their top left corners. Pixels that differ only by anti-aliasing count as equal. Pixels that
 * belong to only one picture count as changed.
 */
export function comparePictures(before: Pixels, after: Pixels, options: ComparisonOptions): Difference {
  const common = { width: Math.min(before.width, after.width), height: Math.min(before.height, after.height) };
  const whole = { width: Math.max(before.width, after.width), height: Math.max(before.height, after.height) };
  const data = new Uint8Array(common.width * common.height * 4);
  const changedInside = pixelmatch(cropped(before, common), cropped(after, common), data, common.width, common.height, {
    threshold: options.threshold,
    diffColor: [...options.changedColor],
  });
  const totalPixels = whole.width * whole.height;
  const changedPixels = changedInside + totalPixels - common.width * common.height;
  const picture = padded({ ...common, data }, whole, options.outsideColor);
  return { picture, changedPixels, changedShare: changedPixels / totalPixels };
}

/** Maximum number of pixels that are compared. Comparing more takes seconds, and canvases have limits. */
export const maxComparedPixels = 4_000_000;

/** Longest side of a canvas that every browser can draw. */
const maxSide = 16_000;

/** Returns the factor, at most 1, by which both pictures fit into the limits. Both use the same factor, so that they can be compared. */
export function comparisonScale(sizes: readonly Size[]): number {
  const width = Math.max(...sizes.map((size) => size.width));
  const height = Math.max(...sizes.map((size) => size.height));
  return Math.min(1, Math.sqrt(maxComparedPixels / (width * height)), maxSide / width, maxSide / height);
}

interface Size {
  readonly width: number;
  readonly height: number;
}

function cropped(pixels: Pixels, { width, height }: Size): Pixels['data'] {
  if (pixels.width === width) return pixels.data.subarray(0, width * height * 4);
  const data = new Uint8Array(width * height * 4);
  for (let row = 0; row < height; row++) {
    const start = row * pixels.width * 4;
    data.set(pixels.data.subarray(start, start + width * 4), row * width * 4);
  }
  return data;
}

function padded(pixels: Pixels, { width, height }: Size, color: Color): Pixels {
  if (pixels.width === width && pixels.height === height) return pixels;
  const data = new Uint8Array(width * height * 4);
  new Uint32Array(data.buffer).fill(new Uint32Array(Uint8Array.of(...color, 255).buffer)[0] ?? 0);
  const rowBytes = pixels.width * 4;
  for (let row = 0; row < pixels.height; row++) {
    data.set(pixels.data.subarray(row * rowBytes, (row + 1) * rowBytes), row * width * 4);
  }
  return { width, height, data };
}
