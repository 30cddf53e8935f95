import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import { Picture } from '../../harness/picture.ts';

/** Two columns of two pixels: red and green above blue and a nearly blue one. */
async function fourPixels(): Promise<Picture> {
  const raw = Buffer.from([255, 0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 250]);
  return Picture.of(
    await sharp(raw, { raw: { width: 2, height: 2, channels: 3 } })
      .png()
      .toBuffer(),
  );
}

describe('a picture', () => {
  test('tells its format, its size and its pixels', async () => {
    const picture = await fourPixels();
    expect([picture.format, picture.size]).toEqual(['png', '2x2']);
    expect([picture.at(0, 0), picture.at(1, 0), picture.at(0, 1), picture.at(1, 1)]).toEqual([
      '#ff0000',
      '#00ff00',
      '#0000ff',
      '#0000fa',
    ]);
  });

  test('measures how far a pixel is from a colour, by its worst channel', async () => {
    const picture = await fourPixels();
    expect(picture.difference(0, 0, '#ff0000')).toBe(0);
    expect(picture.difference(1, 1, '#0300ff')).toBe(5);
    expect(picture.difference(0, 0, '#0000ff')).toBe(255);
  });

  test('counts colours, exactly or nearly', async () => {
    const picture = await fourPixels();
    expect([picture.share('#0000ff'), picture.share('#0000ff', 4), picture.share('#0000ff', 5)]).toEqual([
      0.25, 0.25, 0.5,
    ]);
    expect(picture.dominant(9)).toHaveLength(4);
    expect([picture.coloursInRow(0), picture.rowsOf(0, '#0000ff')]).toEqual([2, [1]]);
  });

  test('has nothing outside of itself', async () => {
    const picture = await fourPixels();
    expect(() => picture.at(2, 0)).toThrow('outside');
    expect(() => picture.at(0, -1)).toThrow('outside');
    expect(() => picture.share('red')).toThrow('not a colour');
  });
});
