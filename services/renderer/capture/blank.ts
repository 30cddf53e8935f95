import sharp from 'sharp';
import { trusted, type EncodedImage } from './encode.ts';

/**
 * A picture of one colour shrinks to next to nothing: only files with fewer bytes for a pixel than this are worth a
 * look. (Chromium's fast png, the least thrifty of our encoders, takes 0.02.)
 */
const mostBytesPerPixel = 0.05;

/** Lossy formats vary a little around one colour. */
const tolerance = 2;

/** Whether the picture is one single colour. It is decoded only when its size leaves that open. */
export async function isBlank({ bytes, width, height }: EncodedImage): Promise<boolean> {
  if (bytes.length > 2048 && bytes.length / (width * height) > mostBytesPerPixel) return false;
  const { channels } = await sharp(bytes, trusted).stats();
  return channels.every(({ min, max }) => max - min <= tolerance);
}
