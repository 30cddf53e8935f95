import { maxSide, type Format } from '@webcapture/shared/api/formats.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';

/** Maximum number of pixels of one capture. Uncompressed, they take 1.2 GB. */
const maxPixels = 400_000_000;

/** Formats that an error message suggests if a page is too large for the requested format. The format with the smallest files is first. */
const alternatives = ['jpeg', 'png'] as const satisfies readonly Format[];

/** Returns the maximum height of a page in a format, in CSS pixels. */
export function maxCssHeight(format: Format, scale: number): number {
  // A page that is only read is laid out like the tallest picture.
  if (format === 'none') return maxSide.png;
  return format === 'pdf' ? maxSide.pdf : Math.floor(maxSide[format] / scale);
}

/**
 * Checks that the format can hold the size. The file of `none` has no size.
 *
 * @param width and height in pixels of the file; for pdf in CSS pixels
 * @throws ServiceError PAGE_TOO_LARGE that names a format that can hold it
 */
export function assertHolds(format: Format, width: number, height: number): void {
  if (format === 'none') return;
  if (format !== 'pdf' && width * height > maxPixels) {
    const megapixels = Math.round((width * height) / 1_000_000);
    throw tooLarge(
      `The picture would have ${megapixels} megapixels, but the maximum is ${maxPixels / 1_000_000}. Use a narrower viewport or a smaller deviceScaleFactor.`,
    );
  }
  const side = height > maxSide[format] ? 'tall' : width > maxSide[format] ? 'wide' : undefined;
  if (side === undefined) return;
  const value = side === 'tall' ? height : width;
  const limit = maxSide[format];
  const other = alternatives.find((one) => one !== format && holds(one, width, height));
  throw tooLarge(
    `The page is ${value} px ${side}, and ${format} holds ${limit} px. ${other === undefined ? wayOut(format) : `Use ${other}, which holds ${maxSide[other]} px.`}`,
  );
}

function holds(format: keyof typeof maxSide, width: number, height: number): boolean {
  return height <= maxSide[format] && width <= maxSide[format] && width * height <= maxPixels;
}

function wayOut(format: keyof typeof maxSide): string {
  if (format === 'pdf') return 'Use pdf without isFullPage, which has as many pages as it takes.';
  return 'Use pdf without isFullPage, which has as many pages as it takes, or a smaller deviceScaleFactor.';
}

function tooLarge(message: string): ServiceError {
  return new ServiceError('PAGE_TOO_LARGE', message);
}
