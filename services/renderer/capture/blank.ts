import type { RenderOptions } from '@webcapture/shared/contract/render-options.ts';
import sharp from 'sharp';
import { trusted, type EncodedImage } from './encode.ts';

/**
 * A picture of one colour shrinks to next to nothing: only files with fewer bytes for a pixel than this are worth a
 * look. (Chromium's fast png, the least thrifty of our encoders, takes 0.02.)
 */
const mostBytesPerPixel = 0.05;
const smallFileBytes = 4096;

/** Nearly every page shows something in its first rows. */
const firstRows = 128;

/** Whether the picture is one single colour. No more of it is decoded than it takes to tell. */
export async function isBlank(
  { bytes, width, height }: EncodedImage,
  options: Pick<RenderOptions, 'format' | 'quality'>,
): Promise<boolean> {
  if (bytes.length > smallFileBytes && bytes.length / (width * height) > mostBytesPerPixel) return false;
  const most = tolerance(options);
  const rows = Math.min(firstRows, height);
  const top = sharp(bytes, trusted).extract({ left: 0, top: 0, width, height: rows });
  const { data, info } = await top.raw().toBuffer({ resolveWithObject: true });
  if (!isUniform(data, info.channels, most)) return false;
  if (rows === height) return true;
  // Takes much longer: it decodes all, and counts more than it is asked for.
  const { channels } = await sharp(bytes, trusted).stats();
  return channels.every(({ min, max }) => max - min <= most);
}

/** Whether no channel of any pixel is further from that of another than `most`. */
function isUniform(data: Buffer, channels: number, most: number): boolean {
  const least = [...data.subarray(0, channels)];
  const greatest = [...least];
  for (let index = 0; index < data.length; index += channels) {
    for (let channel = 0; channel < channels; channel += 1) {
      const value = data[index + channel] ?? 0;
      if (value < (least[channel] ?? 0)) least[channel] = value;
      else if (value > (greatest[channel] ?? 0)) greatest[channel] = value;
      else continue;
      if ((greatest[channel] ?? 0) - (least[channel] ?? 0) > most) return false;
    }
  }
  return true;
}

/** How far the encoder lets one colour drift: measured over single colours at qualities from 1 to 100. */
function tolerance({ format, quality }: Pick<RenderOptions, 'format' | 'quality'>): number {
  if (format !== 'webp') return 1;
  if (quality >= 80) return 6;
  return quality >= 50 ? 12 : 28;
}
