import sharp from 'sharp';
import { expect } from 'vitest';
import { html } from '../harness/engine.ts';
import { testCorpus, type HardPage, type Seen } from './corpus.ts';

/** Red, green, blue and alpha of a pixel of the file. */
async function pixelAt({ rendering }: Seen, x: number, y: number): Promise<number[]> {
  const image = sharp(rendering.bytes).ensureAlpha().extract({ left: x, top: y, width: 1, height: 1 });
  return [...(await image.raw().toBuffer())];
}

const halves = (height: number) =>
  html(
    `<div style="height:${height / 2}px;background:#0000ff"></div><div style="height:${height / 2}px;background:#00aa00"></div>`,
  );
const resize = { fit: 'inside', enlarge: false } as const;

const backgrounds: readonly HardPage[] = [
  {
    name: 'omitBackground: transparent where nothing is painted, half transparent where the paint is half transparent',
    site: {
      '/': html(
        '<p style="margin:100px;height:100px;background:#00aa00"><i style="position:fixed;inset:300px 0 0;background:#ff000080"></i>',
      ),
    },
    options: { omitBackground: true },
    formats: ['png', 'webp'],
    check: async (seen) => {
      expect(await pixelAt(seen, 20, 20)).toHaveProperty('3', 0);
      expect(await pixelAt(seen, 200, 150)).toHaveProperty('3', 255);
      expect((await pixelAt(seen, 200, 400))[3]).toBeCloseTo(128, -1);
    },
  },
  {
    name: 'omitBackground: on a page that is captured in several tiles, and has a dark scheme',
    site: {
      '/': html(
        '<meta name="color-scheme" content="dark"><div style="height:17000px"></div><div style="height:100px;background:#00aa00"></div>',
      ),
    },
    options: { omitBackground: true, isFullPage: true, colorScheme: 'dark', viewport: { width: 100 } },
    formats: ['png'],
    check: async (seen) => {
      expect(seen.rendering).toMatchObject({ width: 100, height: 17_100 });
      for (const y of [10, 8100, 16_900]) expect(await pixelAt(seen, 50, y)).toHaveProperty('3', 0);
      expect(await pixelAt(seen, 50, 17_050)).toEqual([0, 170, 0, 255]);
    },
  },
];

const sizes: readonly HardPage[] = [
  {
    name: 'resize: a thumbnail of a full page, whose size before is reported',
    site: { '/': halves(2000) },
    options: { resize: { ...resize, width: 200, height: 100 }, isFullPage: true },
    formats: ['png', 'jpeg', 'webp'],
    check: (seen) => {
      seen.expectSize(32, 100);
      expect(seen.rendering).toMatchObject({ width: 32, height: 100 });
      expect(seen.report).toMatchObject({ originalSize: { width: 640, height: 2000 }, blank: false });
      seen.expectColumn(16, [
        [20, '#0000ff'],
        [80, '#00aa00'],
      ]);
    },
  },
  {
    name: 'resize: cover crops a page that is captured in several tiles',
    site: { '/': halves(20_000) },
    options: { resize: { ...resize, fit: 'cover', width: 320, height: 320 }, isFullPage: true },
    formats: ['jpeg'],
    check: (seen) => {
      seen.expectSize(320, 320);
      expect(seen.report.originalSize).toEqual({ width: 640, height: 20_000 });
      seen.expectColumn(160, [
        [40, '#0000ff'],
        [280, '#00aa00'],
      ]);
    },
  },
  {
    name: 'resize: contain fills the rest with white',
    site: { '/': halves(480) },
    options: { resize: { ...resize, fit: 'contain', width: 640, height: 240 } },
    formats: ['png'],
    check: (seen) => {
      seen.expectSize(640, 240);
      seen.expectColor(10, 120, '#ffffff');
      seen.expectColor(320, 60, '#0000ff');
    },
  },
  {
    name: 'resize: a picture is not enlarged',
    site: { '/': halves(480) },
    options: { resize: { ...resize, fit: 'fill', width: 10_000 } },
    formats: ['png'],
    check: (seen) => seen.expectSize(640, 480),
  },
  {
    name: 'resize: a picture is enlarged if requested, and if the format allows the size',
    site: { '/': halves(480) },
    options: { resize: { ...resize, width: 1280, enlarge: true } },
    formats: ['png'],
    check: (seen) => seen.expectSize(1280, 960),
  },
  {
    name: 'resize: a picture is not enlarged beyond the limit of the format',
    site: { '/': html('<p>text') },
    options: { resize: { ...resize, width: 2000, enlarge: true }, viewport: { width: 64, height: 640 } },
    formats: ['webp'],
    fails: { code: 'PAGE_TOO_LARGE', message: /webp holds 16383 px/ },
  },
];

testCorpus([...backgrounds, ...sizes]);
