import type { MimeType } from '@webcapture/shared/contract/formats.ts';
import sharp from 'sharp';
import { trusted } from '../capture/encode.ts';
import { isAlmostEqual } from './almost-equal.ts';

type ImageType = Exclude<MimeType, 'application/pdf'>;

/**
 * The most pixels of pictures that are taken apart: what is larger takes too long, and webp, which is decoded whole, too
 * much memory.
 */
const mostPixels: Record<ImageType, number> = {
  'image/png': 150_000_000,
  'image/jpeg': 150_000_000,
  'image/webp': 16_000_000,
};

/** Pixels are decoded a strip at a time: a picture of 100,000 px is half a gigabyte undone. */
const stripBytes = 32 * 1024 * 1024;

/** What each printing writes anew into a pdf: these entries, at once and always of the same length. */
const printingTimes = ['/CreationDate (', '/ModDate ('] as const;

/**
 * Whether two files of a type show the same although their bytes may differ. The same page rendered twice is not always
 * equal to the last bit: pixels that differ by 1 of 255 in a channel count as equal, and a pdf says when it was printed.
 * A file that cannot be read, or that is too large to be taken apart, shows the same only when its bytes are equal.
 */
export async function isSamePicture(mimeType: MimeType, a: Buffer, b: Buffer): Promise<boolean> {
  if (a.equals(b)) return true;
  if (mimeType === 'application/pdf') return withoutTimes(a).equals(withoutTimes(b));
  try {
    return await haveSamePixels(mimeType, a, b);
  } catch {
    return false;
  }
}

async function haveSamePixels(type: ImageType, a: Buffer, b: Buffer): Promise<boolean> {
  const { width, height, channels } = await sharp(a, trusted).metadata();
  const other = await sharp(b, trusted).metadata();
  if (width !== other.width || height !== other.height || channels !== other.channels) return false;
  if (width * height > mostPixels[type]) return false;

  const rows = Math.max(1, Math.floor(stripBytes / (width * channels)));
  for (let top = 0; top < height; top += rows) {
    const strip = { left: 0, top, width, height: Math.min(rows, height - top) };
    // One after the other: each takes memory while it is decoded, and a processor that captures need too.
    const pixels = await sharp(a, trusted).extract(strip).raw().toBuffer();
    if (!(await isAlmostEqual(pixels, await sharp(b, trusted).extract(strip).raw().toBuffer()))) return false;
  }
  return true;
}

function withoutTimes(pdf: Buffer): Buffer {
  const blanked = Buffer.from(pdf);
  for (const key of printingTimes) {
    for (let at = pdf.indexOf(key); at !== -1; at = pdf.indexOf(key, at + key.length)) {
      const start = at + key.length;
      const end = pdf.indexOf(')', start);
      if (end !== -1) blanked.fill('0', start, end);
    }
  }
  return blanked;
}
