import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import { Picture } from '../../harness/picture.ts';

/** A picture of 2 × 2 pixels: red and green in the first row, blue and nearly blue in the second. */
async function fourPixels(): Promise<Picture> {
  const raw = Buffer.from([255, 0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 250]);
  return Picture.of(
    await sharp(raw, { raw: { width: 2, height: 2, channels: 3 } })
      .png()
      .toBuffer(),
  );
}

describe('Picture', () => {
  test('has the format, the size and the color of each pixel', async () => {
    const picture = await fourPixels();
    expect([picture.format, picture.size]).toEqual(['png', '2x2']);
    expect([picture.at(0, 0), picture.at(1, 0), picture.at(0, 1), picture.at(1, 1)]).toEqual([
      '#ff0000',
      '#00ff00',
      '#0000ff',
      '#0000fa',
    ]);
  });

  test('measures the difference of a pixel to a color by the channel that differs most', async () => {
    const picture = await fourPixels();
    expect(picture.difference(0, 0, '#ff0000')).toBe(0);
    expect(picture.difference(1, 1, '#0300ff')).toBe(5);
    expect(picture.difference(0, 0, '#0000ff')).toBe(255);
  });

  test('counts the pixels of a color, exactly or with a tolerance', async () => {
    const picture = await fourPixels();
    expect([picture.share('#0000ff'), picture.share('#0000ff', 4), picture.share('#0000ff', 5)]).toEqual([
      0.25, 0.25, 0.5,
    ]);
    expect(picture.dominant(9)).toHaveLength(4);
    expect([picture.colorsInRow(0), picture.rowsOf(0, '#0000ff')]).toEqual([2, [1]]);
  });

  test('throws for coordinates outside the picture and for invalid colors', async () => {
    const picture = await fourPixels();
    expect(() => picture.at(2, 0)).toThrow('outside');
    expect(() => picture.at(0, -1)).toThrow('outside');
    expect(() => picture.share('red')).toThrow('not a color');
  });
});
