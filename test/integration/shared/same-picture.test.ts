// @module-tag long
import { crc32, deflateSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import sharp, { type Sharp } from 'sharp';
import { mimeTypes } from '@webcapture/shared/api/formats.ts';
import { isSamePicture } from '@webcapture/shared/files/same-picture.ts';
import { html, TestEngine, type ShotOptions } from '../../harness/engine.ts';

const images = ['png', 'jpeg', 'webp'] as const;
type ImageFormat = (typeof images)[number];
const { png } = mimeTypes;

interface Pixels {
  readonly width: number;
  readonly height: number;
  readonly data: Buffer;
}

/** An image of many colours; `value` returns the byte at an index. */
function pixels(width: number, height: number, value = (index: number) => (index * 7) % 254): Pixels {
  return { width, height, data: Buffer.from(Array.from({ length: width * height * 3 }, (_, index) => value(index))) };
}

const image = ({ width, height, data }: Pixels): Sharp => sharp(data, { raw: { width, height, channels: 3 } });
const asPng = (picture: Pixels, compressionLevel = 6) => image(picture).png({ compressionLevel }).toBuffer();

/** Returns the image with changed bytes. */
function changed(picture: Pixels, change: (byte: number, index: number) => number): Pixels {
  return { ...picture, data: Buffer.from(picture.data.map((byte, index) => change(byte, index))) };
}

interface Shape {
  readonly width: number;
  readonly height: number;
  readonly channels: number;
}

function chunk(type: string, data: Buffer): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(data.length, 0);
  head.write(type, 4, 'latin1');
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(Buffer.concat([head.subarray(4), data])), 0);
  return Buffer.concat([head, data, sum]);
}

/** A PNG with these compressed rows. */
function pngOf({ width, height, channels }: Shape, compressed: Buffer): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, channels === 4 ? 6 : 2, 0, 0, 0], 8);
  const half = Math.floor(compressed.length / 2);
  const parts = [compressed.subarray(0, half), Buffer.alloc(0), compressed.subarray(half)];
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    ...parts.map((part) => chunk('IDAT', part)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

/** A PNG whose rows cycle through the filters of the specification. */
function byFilters(data: Buffer, shape: Shape): Buffer {
  const { width, height, channels } = shape;
  const length = width * channels;
  const at = (row: number, index: number) => (row < 0 || index < 0 ? 0 : (data[row * length + index] ?? 0));
  const rows = Array.from({ length: height }, (_, row) => {
    const filter = row % 5;
    const filtered = Array.from({ length }, (__, index) => {
      const [a, b, c] = [
        at(row, index - channels),
        at(row - 1, index),
        index < channels ? 0 : at(row - 1, index - channels),
      ];
      const near = [a, b, c].toSorted((x, y) => Math.abs(a + b - c - x) - Math.abs(a + b - c - y))[0] ?? 0;
      return at(row, index) - ([0, a, b, Math.floor((a + b) / 2), near][filter] ?? 0);
    });
    return Buffer.from([filter, ...filtered]);
  });
  return pngOf(shape, deflateSync(Buffer.concat(rows)));
}

const last = 30 * 20 * 3 - 1;

describe('images with different bytes', () => {
  const plain = pixels(30, 20);

  test('and equal pixels are the same picture', async () => {
    const [a, b] = [await asPng(plain, 1), await asPng(plain, 9)];
    expect(a.equals(b)).toBe(false);
    expect(await isSamePicture(png, a, b)).toBe(true);
  });

  test.each([
    ['by 1 everywhere', () => 1, true],
    ['by 1 up and down', (index: number) => (index % 2 === 0 ? 1 : -1), true],
    ['by 2 in the first channel of all', (index: number) => (index === 0 ? 2 : 0), false],
    ['by 2 in the last one', (index: number) => (index === last ? 2 : 0), false],
    ['by -2 in the middle', (index: number) => (index === 900 ? -2 : 0), false],
    ['much', (index: number) => (index > 900 ? 100 : 0), false],
  ])('that differ %s are compared by their pixels', async (_name, by, same) => {
    const base = changed(plain, (byte) => 2 + (byte % 150));
    const other = changed(base, (byte, index) => byte + by(index));
    expect(await isSamePicture(png, await asPng(base), await asPng(other))).toBe(same);
    expect(await isSamePicture(png, await asPng(other), await asPng(base))).toBe(same);
  });

  test('and one channel of 0 instead of 255 differ', async () => {
    const white = changed(plain, () => 255);
    const other = changed(white, (byte, index) => (index === 5 ? 0 : byte));
    expect(await isSamePicture(png, await asPng(white), await asPng(other))).toBe(false);
  });

  test.each([
    ['width', pixels(31, 20, () => 0)],
    ['height', pixels(30, 21, () => 0)],
    ['both, of as many pixels', pixels(20, 30, () => 0)],
  ])('and another %s differ', async (_name, other) => {
    const black = pixels(30, 20, () => 0);
    expect(await isSamePicture(png, await asPng(black), await asPng(other))).toBe(false);
  });

  test('differ if one is translucent', async () => {
    const opaque = await asPng(plain);
    const translucent = await image(plain).ensureAlpha(0.5).png().toBuffer();
    expect(await isSamePicture(png, opaque, translucent)).toBe(false);
  });

  test('differ if one is not an image', async () => {
    const fine = await asPng(plain);
    expect(await isSamePicture(png, fine, Buffer.from('no picture'))).toBe(false);
    expect(await isSamePicture(png, fine.subarray(0, fine.length - 40), await asPng(plain, 1))).toBe(false);
    expect(await isSamePicture(png, fine, Buffer.alloc(0))).toBe(false);
  });
});

test('a difference at the end of an image of 100,000 px is found in little memory', async () => {
  const size = { width: 600, height: 100_000 };
  const tall = sharp({ create: { ...size, channels: 3, background: '#abcdef' }, limitInputPixels: false });
  const encode = (picture: Sharp, level: number) => picture.png({ compressionLevel: level }).toBuffer();
  const a = await encode(tall.clone(), 1);
  const same = await encode(tall.clone(), 2);
  const dot = { create: { width: 1, height: 1, channels: 3, background: '#000' } } as const;
  const other = await encode(tall.clone().composite([{ input: dot, left: 599, top: 99_999 }]), 1);
  // Not the memory of the whole process, which includes what earlier test files left.
  const inBuffers = () => process.memoryUsage().arrayBuffers;
  const before = inBuffers();
  let most = before;
  const timer = setInterval(() => (most = Math.max(most, inBuffers())), 5);
  try {
    expect(await isSamePicture(png, a, same)).toBe(true);
    expect(await isSamePicture(png, a, other)).toBe(false);
  } finally {
    clearInterval(timer);
  }
  // The pixels of both take 360 MB; released buffers may remain until they are collected.
  expect(most - before).toBeLessThan(250_000_000);
});

test.each([3, 4])('rows with every filter, of %i channels, are decoded', async (channels) => {
  const [width, height] = [37, 41];
  const data = Buffer.from(Array.from({ length: width * height * channels }, (_, index) => (index * index) % 251));
  const raw = sharp(data, { raw: { width, height, channels: channels as 3 | 4 } });
  const plain = await raw.clone().png({ adaptiveFiltering: false }).toBuffer();
  expect(await isSamePicture(png, plain, byFilters(data, { width, height, channels }))).toBe(true);
  const other = Buffer.from(data);
  other[other.length - 1] = ((other.at(-1) ?? 0) + 2) % 256;
  expect(await isSamePicture(png, plain, byFilters(other, { width, height, channels }))).toBe(false);
});

test.each([
  ['a palette', { palette: true }],
  ['rows that are interlaced', { progressive: true }],
])('a PNG with %s is the same picture only if its bytes are equal', async (_name, options) => {
  const picture = image(pixels(30, 20, () => 7));
  const [a, b] = [1, 9].map((compressionLevel) =>
    picture
      .clone()
      .png({ ...options, compressionLevel })
      .toBuffer(),
  );
  expect(await isSamePicture(png, (await a) as Buffer, Buffer.from((await a) as Buffer))).toBe(true);
  expect(await isSamePicture(png, (await a) as Buffer, Buffer.concat([(await b) as Buffer, Buffer.alloc(1)]))).toBe(
    false,
  );
});

test('a small file that claims a huge size, or never ends, is not the same picture', async () => {
  const bomb = pngOf({ width: 12_000, height: 12_000, channels: 4 }, deflateSync(Buffer.alloc(64 * 1024 * 1024)));
  const other = Buffer.concat([bomb, Buffer.from('x')]);
  expect(await isSamePicture(png, bomb, other)).toBe(false);
  const huge = pngOf({ width: 1_000_000, height: 1_000_000, channels: 3 }, deflateSync(Buffer.alloc(1000)));
  expect(await isSamePicture(png, huge, Buffer.concat([huge, Buffer.from('x')]))).toBe(false);
});

describe('renderings of Chromium', () => {
  let engine: TestEngine;
  beforeAll(async () => {
    engine = await TestEngine.start();
  });
  afterAll(() => engine.close());

  const page = (text: string) =>
    ({
      kind: 'html',
      html: html(`<h1>${text}</h1><a href="https://example.com/">a link</a>
        <div style="transform:rotate(7deg);width:200px;height:200px;border-radius:20px;opacity:.7;
          background:linear-gradient(#f00,#00f);filter:drop-shadow(3px 3px 5px #000)">rotated</div>
        <table><tr><th id="a">head</th><td headers="a">cell</td></tr></table>`),
    }) as const;
  const render = async (text: string, options: ShotOptions) => (await engine.render(page(text), options)).bytes;

  test.each(images)('of a page as %s are the same unless its text differs', async (format: ImageFormat) => {
    const first = await render('Monday', { format });
    expect(await isSamePicture(mimeTypes[format], first, await render('Monday', { format }))).toBe(true);
    expect(await isSamePicture(mimeTypes[format], first, await render('Tuesday', { format }))).toBe(false);
    // Equal pixels in different bytes are recognized only for PNG.
    const padded = Buffer.concat([first, Buffer.alloc(8)]);
    expect(await isSamePicture(mimeTypes[format], first, padded)).toBe(format === 'png');
  });

  test.each([false, true])('as a PDF (of one page: %s) are the same at another time', async (isFullPage) => {
    const options = { format: 'pdf', isFullPage } as const;
    const first = await render('Monday', options);
    // PDFs contain the time in seconds.
    await new Promise((resolve) => setTimeout(resolve, 1100));
    const second = await render('Monday', options);
    expect(first.equals(second)).toBe(false);
    expect(await isSamePicture(mimeTypes.pdf, first, second)).toBe(true);
    expect(await isSamePicture(mimeTypes.pdf, first, await render('Sunday', options))).toBe(false);
  });
});
