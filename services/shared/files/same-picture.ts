import { pipeline, Readable } from 'node:stream';
import { createInflate } from 'node:zlib';
import type { StoredType } from '../api/formats.ts';
import type { StoredFile } from './file-store.ts';
import { hasSignature } from './upload.ts';

/** Maximum number of pixels of compared pictures; larger ones would take too long. */
const maxPixels = 150_000_000;

/** Number of bytes decoded per step: it needs little memory, and blocks the event loop for about 2 ms. */
const blockBytes = 256 * 1024;

/** Entries of a PDF that change with each print. They are at the beginning and have a fixed length. */
const printingTimes = ['/CreationDate (', '/ModDate ('] as const;

/**
 * Returns whether two files of the same type show the same picture although their bytes may differ. Two renderings of a
 * page are not always identical: pixels of a PNG that differ by 1 of 255 in a channel count as equal, and a PDF contains
 * the time of printing. JPEG and WebP must have equal bytes, because decoding needs native code, which a trusted service
 * must not run on files of hostile pages. The same applies to a PNG of a kind that our encoder does not write, that cannot
 * be read, or that has more than 150 million pixels.
 */
export async function isSamePicture(mimeType: StoredType, a: Buffer, b: Buffer): Promise<boolean> {
  if (a.equals(b)) return true;
  if (mimeType === 'application/pdf') return withoutTimes(a).equals(withoutTimes(b));
  if (mimeType !== 'image/png') return false;
  try {
    return await haveSamePixels(a, b);
  } catch {
    return false;
  }
}

/** Types of files that can show the same picture with different bytes. */
const comparable: readonly StoredType[] = ['image/png', 'application/pdf'];

/** Maximum size of compared files, because both are held in memory. */
const maxComparedBytes = 64 * 1024 * 1024;

/** Metadata that decides whether files are compared. */
export type ComparableFile = Pick<StoredFile, 'contentType' | 'width' | 'height' | 'size'>;

/** Whether two files with this metadata are worth comparing. */
export const mayShowSame = (a: ComparableFile, b: ComparableFile): boolean =>
  a.contentType === b.contentType &&
  a.width === b.width &&
  a.height === b.height &&
  comparable.includes(a.contentType) &&
  Math.max(a.size, b.size) <= maxComparedBytes;

interface Header {
  readonly width: number;
  readonly height: number;
  readonly bytesPerPixel: number;
}

async function haveSamePixels(a: Buffer, b: Buffer): Promise<boolean> {
  const [left, right] = [readHeader(a), readHeader(b)];
  if (left === null || right === null) return false;
  const { width, height, bytesPerPixel } = left;
  if (width !== right.width || height !== right.height || bytesPerPixel !== right.bytesPerPixel) return false;
  const [ofA, ofB] = [pixelsOf(a, left), pixelsOf(b, right)];
  try {
    for (;;) {
      const [one, other] = await Promise.all([ofA.next(), ofB.next()]);
      if (one.done === true || other.done === true) return one.done === other.done;
      if (!isAlmostEqual(one.value, other.value)) return false;
    }
  } finally {
    await Promise.all([ofA.return(), ofB.return()]);
  }
}

/** Returns null for a kind of PNG that our encoder does not write: a palette, 16 bits, interlaced. */
function readHeader(png: Buffer): Header | null {
  if (!hasSignature('image/png', png) || png.length < 33) return null;
  const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)];
  const [bitDepth, colourType, compression, filter, interlace] = png.subarray(24, 29);
  const bytesPerPixel = colourType === 2 ? 3 : colourType === 6 ? 4 : 0;
  if (bitDepth !== 8 || bytesPerPixel === 0 || compression !== 0 || filter !== 0 || interlace !== 0) return null;
  return width === 0 || height === 0 || width * height > maxPixels ? null : { width, height, bytesPerPixel };
}

/**
 * Yields the pixels in blocks of rows; the number of rows is equal for equal headers. Each block is valid until the next
 * one is requested. Throws if there are fewer pixels than the header says.
 */
async function* pixelsOf(
  png: Buffer,
  { width, height, bytesPerPixel }: Header,
): AsyncGenerator<Buffer, void, undefined> {
  const stride = width * bytesPerPixel + 1;
  const rowsPerBlock = Math.min(height, Math.max(1, Math.floor(blockBytes / stride)));
  const inflate = createInflate({ chunkSize: blockBytes });
  // An error destroys the stream that is read below, which then throws the error.
  pipeline(Readable.from(imageData(png)), inflate, () => undefined);
  // One block is reused: for a picture of 100,000 px, hundreds of megabytes would otherwise wait for garbage collection.
  const block = Buffer.alloc(rowsPerBlock * stride);
  let [pixels, pixelsBefore] = [Buffer.alloc(rowsPerBlock * (stride - 1)), Buffer.alloc(rowsPerBlock * (stride - 1))];
  let previous = Buffer.alloc(stride - 1);
  let rowsLeft = height;
  let filled = 0;
  try {
    for await (const chunk of inflate as AsyncIterable<Buffer>) {
      for (let taken = 0; taken < chunk.length && rowsLeft > 0;) {
        const rows = Math.min(rowsPerBlock, rowsLeft);
        const copied = chunk.copy(block, filled, taken, taken + rows * stride - filled);
        taken += copied;
        filled += copied;
        if (filled < rows * stride) continue;
        const read = pixels.subarray(0, rows * (stride - 1));
        unfilter(block, read, { rows, stride, bytesPerPixel, previous });
        previous = read.subarray(read.length - (stride - 1));
        rowsLeft -= rows;
        yield read;
        [pixels, pixelsBefore] = [pixelsBefore, pixels];
        filled = 0;
      }
    }
  } finally {
    inflate.destroy();
  }
  if (rowsLeft > 0) throw new Error(`${rowsLeft} rows are missing`);
}

/** Yields the contents of the chunks with compressed pixels. */
function* imageData(png: Buffer): Generator<Buffer> {
  for (let at = 8; at + 12 <= png.length;) {
    const length = png.readUInt32BE(at);
    const type = png.toString('latin1', at + 4, at + 8);
    if (type === 'IEND') return;
    if (type === 'IDAT') yield png.subarray(at + 8, Math.min(at + 8 + length, png.length));
    at += length + 12;
  }
}

/**
 * Reverses the filters of some rows (PNG specification, 9 Filtering). Each row starts with a byte for its filter, followed
 * by the differences of its pixels from their neighbours to the left and above.
 */
function unfilter(
  block: Buffer,
  pixels: Buffer,
  { rows, stride, bytesPerPixel, previous }: { rows: number; stride: number; bytesPerPixel: number; previous: Buffer },
): void {
  const length = stride - 1;
  let above = previous;
  for (let row = 0; row < rows; row++) {
    const filtered = block.subarray(row * stride + 1, (row + 1) * stride);
    const own = pixels.subarray(row * length, (row + 1) * length);
    unfilterRow(block[row * stride] ?? 0, { filtered, above, own }, bytesPerPixel);
    above = own;
  }
}

/** Pixels to the left of the first one, and above the first row, count as 0. */
function unfilterRow(
  filter: number,
  { filtered, above, own }: { filtered: Uint8Array; above: Uint8Array; own: Uint8Array },
  bytesPerPixel: number,
): void {
  const { length } = own;
  own.set(filtered);
  // These loops process each byte of each picture. They use plain indexes, because a call for each byte takes ten times as long.
  switch (filter) {
    case 0:
      return;
    case 1:
      for (let i = bytesPerPixel; i < length; i++) own[i] = byte(own[i]) + byte(own[i - bytesPerPixel]);
      return;
    case 2:
      for (let i = 0; i < length; i++) own[i] = byte(own[i]) + byte(above[i]);
      return;
    case 3:
      for (let i = 0; i < bytesPerPixel; i++) own[i] = byte(own[i]) + (byte(above[i]) >> 1);
      for (let i = bytesPerPixel; i < length; i++) {
        own[i] = byte(own[i]) + ((byte(own[i - bytesPerPixel]) + byte(above[i])) >> 1);
      }
      return;
    case 4:
      for (let i = 0; i < bytesPerPixel; i++) own[i] = byte(own[i]) + byte(above[i]);
      for (let i = bytesPerPixel; i < length; i++) {
        own[i] = byte(own[i]) + paeth(byte(own[i - bytesPerPixel]), byte(above[i]), byte(above[i - bytesPerPixel]));
      }
      return;
    default:
      throw new Error(`there is no filter ${filter}`);
  }
}

const byte = (value: number | undefined): number => value ?? 0;

/** Returns the neighbour that is nearest to left + above - upper left. */
function paeth(left: number, above: number, upperLeft: number): number {
  const toLeft = Math.abs(above - upperLeft);
  const toAbove = Math.abs(left - upperLeft);
  const toUpperLeft = Math.abs(left + above - 2 * upperLeft);
  if (toLeft <= toAbove && toLeft <= toUpperLeft) return left;
  return toAbove <= toUpperLeft ? above : upperLeft;
}

/** Whether no two bytes at the same position differ by more than 1. */
function isAlmostEqual(a: Buffer, b: Buffer): boolean {
  if (a.equals(b)) return true;
  if (a.length !== b.length) return false;
  for (let index = 0; index < a.length; index++) {
    const difference = (a[index] ?? 0) - (b[index] ?? 0);
    if (difference > 1 || difference < -1) return false;
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
