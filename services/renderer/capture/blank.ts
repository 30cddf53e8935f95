import type { RenderOptions } from '@webcapture/shared/contract/render-options.ts';
import sharp from 'sharp';
import { trusted, type EncodedImage } from './encode.ts';

/**
 * A picture of one colour shrinks to next to nothing: only files with fewer bytes for a pixel than this are worth a
 * look. (Chromium's fast png, the least thrifty of our encoders, takes 0.02.)
 */
const mostBytesPerPixel = 0.05;
const smallFileBytes = 4096;

/** Whether the picture is one single colour. It is decoded only when its size leaves that open. */
export async function isBlank(
  { bytes, width, height }: EncodedImage,
  options: Pick<RenderOptions, 'format' | 'quality'>,
): Promise<boolean> {
  if (bytes.length > smallFileBytes && bytes.length / (width * height) > mostBytesPerPixel) return false;
  const { channels } = await sharp(bytes, trusted).stats();
  return channels.every(({ min, max }) => max - min <= tolerance(options));
}

/** How far the encoder lets one colour drift: measured over single colours at qualities from 1 to 100. */
function tolerance({ format, quality }: Pick<RenderOptions, 'format' | 'quality'>): number {
  if (format !== 'webp') return 1;
  if (quality >= 80) return 6;
  return quality >= 50 ? 12 : 28;
}
