import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import { encode } from '../../../services/renderer/page/screenshot.ts';
import { defaultOptions } from '../../harness/records.ts';

const pictureOf = (width: number, height: number, background = '#00aa00') =>
  sharp({ create: { width, height, channels: 3, background } })
    .png()
    .toBuffer();

const fileOf = async (width: number, height: number) =>
  ({ kind: 'file', bytes: await pictureOf(width, height), interrupted: false }) as const;

describe('a screenshot in one file', () => {
  test.each([
    [0, 0],
    [1, 0],
    [-1, 1],
  ])('is accepted if it is %i px wider and %i px taller than requested', async (wider, taller) => {
    const shot = { ...(await fileOf(300, 200)), width: 300 - wider, height: 200 - taller };
    expect(await encode(shot, defaultOptions)).toEqual({ bytes: shot.bytes, width: 300, height: 200 });
  });

  test.each([
    [2, 0],
    [0, 2],
    [-2, 0],
    [0, -2],
    [0, 100],
  ])('is refused if it is %i px wider and %i px taller than requested', async (wider, taller) => {
    const shot = { ...(await fileOf(300, 200)), width: 300 - wider, height: 200 - taller };
    await expect(encode(shot, defaultOptions)).rejects.toMatchObject({
      code: 'CAPTURE_FAILED',
      message: expect.stringContaining(`300 × 200 px instead of ${300 - wider} × ${200 - taller} px`),
    });
  });

  test('is refused if it has no bytes', async () => {
    const shot = { kind: 'file', bytes: Buffer.alloc(0), interrupted: false, width: 300, height: 200 } as const;
    await expect(encode(shot, defaultOptions)).rejects.toMatchObject({
      code: 'CAPTURE_FAILED',
      message: expect.stringContaining('empty'),
    });
  });
});

describe('a screenshot in tiles', () => {
  const tiles = () => Promise.all([pictureOf(300, 200), pictureOf(300, 200, '#0000aa'), pictureOf(300, 50, '#aa0000')]);

  test.each(['png', 'jpeg', 'webp'] as const)('is joined in the order of the tiles into one %s', async (format) => {
    const shot = {
      kind: 'tiles',
      overlays: [],
      tiles: await tiles(),
      interrupted: false,
      width: 300,
      height: 450,
    } as const;
    const { bytes, ...size } = await encode(shot, { ...defaultOptions, format });
    expect(size).toEqual({ width: 300, height: 450 });
    expect((await sharp(bytes).metadata()).format).toBe(format);
    const { data, info } = await sharp(bytes).raw().toBuffer({ resolveWithObject: true });
    const strongest = (y: number) => {
      const at = (y * info.width + 150) * info.channels;
      const channels = [...data.subarray(at, at + 3)];
      return 'rgb'[channels.indexOf(Math.max(...channels))];
    };
    expect([100, 300, 425].map(strongest)).toEqual(['g', 'b', 'r']);
  });

  test('is refused if a tile is missing', async () => {
    const shot = {
      kind: 'tiles',
      overlays: [],
      tiles: (await tiles()).slice(1),
      interrupted: false,
      width: 300,
      height: 450,
    } as const;
    await expect(encode(shot, defaultOptions)).rejects.toMatchObject({ code: 'CAPTURE_FAILED' });
  });
});
