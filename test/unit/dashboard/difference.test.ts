import { expect, test } from 'vitest';
import { comparisonScale, maxComparedPixels, type Pixels } from '@webcapture/shared/files/picture-difference.ts';
import { differenceOf } from '../../../services/dashboard/pages/captures/difference.ts';

type Color = readonly [number, number, number];
const white: Color = [255, 255, 255];
const black: Color = [0, 0, 0];

function picture(width: number, height: number, colorAt: (x: number, y: number) => Color = () => white): Pixels {
  const data = new Uint8ClampedArray(width * height * 4);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) data.set([...colorAt(x, y), 255], (y * width + x) * 4);
  }
  return { width, height, data };
}

const pixel = ({ data, width }: Pixels, x: number, y: number) =>
  Array.from(data.subarray((y * width + x) * 4).slice(0, 3));

test('equal pictures do not differ', () => {
  expect(differenceOf(picture(10, 10), picture(10, 10), 0.1)).toMatchObject({ changedPixels: 0, changedShare: 0 });
});

test('a changed square is counted, and painted at its place', () => {
  const square = (x: number, y: number) => (x >= 4 && x < 12 && y >= 4 && y < 12 ? black : white);
  const { picture: painted, changedPixels } = differenceOf(picture(20, 20), picture(20, 20, square), 0.1);
  expect(changedPixels).toBe(64);
  expect(pixel(painted, 8, 8)).toEqual([214, 0, 80]);
  expect(pixel(painted, 1, 1)).not.toEqual([214, 0, 80]);
});

test('the threshold ignores slight changes of color', () => {
  const slightly = picture(10, 10, () => [240, 240, 240]);
  expect(differenceOf(picture(10, 10), slightly, 0.01).changedPixels).toBe(100);
  expect(differenceOf(picture(10, 10), slightly, 0.2).changedPixels).toBe(0);
});

test('an area that only one picture covers is changed, independent of its color', () => {
  const { picture: painted, changedPixels, changedShare } = differenceOf(picture(10, 20), picture(20, 10), 0.1);
  expect([painted.width, painted.height, changedPixels, changedShare]).toEqual([20, 20, 300, 0.75]);
  expect(pixel(painted, 15, 5)).toEqual([214, 0, 80]);
  expect(pixel(painted, 5, 5)).not.toEqual([214, 0, 80]);
});

test.each([
  [[{ width: 1280, height: 720 }], 1],
  [[{ width: 4000, height: 4000 }], 0.5],
  [[{ width: 16, height: 100_000 }], 0.16],
])('%j are scaled by %d', (sizes, scale) => {
  expect(comparisonScale(sizes)).toBe(scale);
});

test('both pictures together fit the maximum number of pixels', () => {
  const scale = comparisonScale([
    { width: 7680, height: 100 },
    { width: 100, height: 7680 },
  ]);
  expect(7680 * 7680 * scale * scale).toBeLessThanOrEqual(maxComparedPixels * 1.001);
});
