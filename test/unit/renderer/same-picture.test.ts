import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import sharp, { type Sharp } from 'sharp';
import { mimeTypes } from '@webcapture/shared/contract/formats.ts';
import { isSamePicture } from '../../../services/renderer/job/same-picture.ts';
import { html, TestEngine, type ShotOptions } from '../../harness/engine.ts';

const images = ['png', 'jpeg', 'webp'] as const;
type ImageFormat = (typeof images)[number];
const { png } = mimeTypes;

interface Pixels {
  readonly width: number;
  readonly height: number;
  readonly data: Buffer;
}

/** A picture of many colours; `value` makes the byte at an index. */
function pixels(width: number, height: number, value = (index: number) => (index * 7) % 254): Pixels {
  return { width, height, data: Buffer.from(Array.from({ length: width * height * 3 }, (_, index) => value(index))) };
}

const image = ({ width, height, data }: Pixels): Sharp => sharp(data, { raw: { width, height, channels: 3 } });
const asPng = (picture: Pixels, compressionLevel = 6) => image(picture).png({ compressionLevel }).toBuffer();

/** The same with some bytes changed. */
function changed(picture: Pixels, change: (byte: number, index: number) => number): Pixels {
  return { ...picture, data: Buffer.from(picture.data.map((byte, index) => change(byte, index))) };
}

const last = 30 * 20 * 3 - 1;

describe('pictures of other bytes', () => {
  const plain = pixels(30, 20);

  test('that show the very same', async () => {
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
  ])('that differ %s', async (_name, by, same) => {
    const base = changed(plain, (byte) => 2 + (byte % 150));
    const other = changed(base, (byte, index) => byte + by(index));
    expect(await isSamePicture(png, await asPng(base), await asPng(other))).toBe(same);
    expect(await isSamePicture(png, await asPng(other), await asPng(base))).toBe(same);
  });

  test('from 255 to 0 is far', async () => {
    const white = changed(plain, () => 255);
    const other = changed(white, (byte, index) => (index === 5 ? 0 : byte));
    expect(await isSamePicture(png, await asPng(white), await asPng(other))).toBe(false);
  });

  test.each([
    ['width', pixels(31, 20, () => 0)],
    ['height', pixels(30, 21, () => 0)],
    ['both, of as many pixels', pixels(20, 30, () => 0)],
  ])('of another %s', async (_name, other) => {
    const black = pixels(30, 20, () => 0);
    expect(await isSamePicture(png, await asPng(black), await asPng(other))).toBe(false);
  });

  test('one of which can be seen through', async () => {
    const opaque = await asPng(plain);
    const translucent = await image(plain).ensureAlpha(0.5).png().toBuffer();
    expect(await isSamePicture(png, opaque, translucent)).toBe(false);
  });

  test('one of which is no picture', async () => {
    const fine = await asPng(plain);
    expect(await isSamePicture(png, fine, Buffer.from('no picture'))).toBe(false);
    expect(await isSamePicture(png, fine.subarray(0, fine.length - 40), await asPng(plain, 1))).toBe(false);
    expect(await isSamePicture(png, fine, Buffer.alloc(0))).toBe(false);
  });
});

test('a difference is found at the end of a picture of 100,000 px, in little memory', async () => {
  const size = { width: 600, height: 100_000 };
  const tall = sharp({ create: { ...size, channels: 3, background: '#abcdef' }, limitInputPixels: false });
  const encode = (picture: Sharp, level: number) => picture.png({ compressionLevel: level }).toBuffer();
  const a = await encode(tall.clone(), 1);
  const same = await encode(tall.clone(), 2);
  const dot = { create: { width: 1, height: 1, channels: 3, background: '#000' } } as const;
  const other = await encode(tall.clone().composite([{ input: dot, left: 599, top: 99_999 }]), 1);
  const before = process.memoryUsage().rss;
  let most = before;
  const timer = setInterval(() => (most = Math.max(most, process.memoryUsage().rss)), 5);
  try {
    expect(await isSamePicture(png, a, same)).toBe(true);
    expect(await isSamePicture(png, a, other)).toBe(false);
  } finally {
    clearInterval(timer);
  }
  expect(most - before).toBeLessThan(200_000_000);
}, 120_000);

describe('what Chromium makes', () => {
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

  test.each(images)('a page as %s is the same again, and another when its text is', async (format: ImageFormat) => {
    const first = await render('Monday', { format });
    expect(await isSamePicture(mimeTypes[format], first, await render('Monday', { format }))).toBe(true);
    expect(await isSamePicture(mimeTypes[format], first, await render('Tuesday', { format }))).toBe(false);
    // Also when it comes in other bytes of the same pixels.
    const padded = Buffer.concat([first, Buffer.alloc(8)]);
    expect(await isSamePicture(mimeTypes[format], first, padded)).toBe(true);
  });

  test.each([false, true])('a pdf (of one page: %s) is the same at another time', async (isFullPage) => {
    const options = { format: 'pdf', isFullPage } as const;
    const first = await render('Monday', options);
    // Pdfs tell the time in seconds.
    await new Promise((resolve) => setTimeout(resolve, 1100));
    const second = await render('Monday', options);
    expect(first.equals(second)).toBe(false);
    expect(await isSamePicture(mimeTypes.pdf, first, second)).toBe(true);
    expect(await isSamePicture(mimeTypes.pdf, first, await render('Sunday', options))).toBe(false);
  });
});
