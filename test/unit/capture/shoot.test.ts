import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { html, TestEngine } from '../../harness/engine.ts';

let engine: TestEngine;

beforeAll(async () => {
  engine = await TestEngine.start();
});

afterAll(() => engine.close());

/** A page of so many CSS pixels with a mark of 50 px at its very end, and a ruler of 100 px steps. */
const tall = (height: number) =>
  ({
    kind: 'html',
    html: html(
      `<div style="height:${height}px;background:repeating-linear-gradient(#fff 0 100px,#00f 100px 200px);position:relative">
       <div style="position:absolute;bottom:0;width:100%;height:50px;background:#f00"></div></div>`,
    ),
  }) as const;

const painting = {
  kind: 'html',
  html: html(`<div style="height:100vh;background:linear-gradient(45deg,#f00,#0f0,#00f)">${'text '.repeat(500)}</div>`),
} as const;

describe('formats', () => {
  test.for([
    ['png', 'image/png'],
    ['jpeg', 'image/jpeg'],
    ['webp', 'image/webp'],
  ] as const)('%s', async ([format, mimeType]) => {
    const { picture, rendering } = await engine.shoot(painting, { format });
    expect(rendering.mimeType).toBe(mimeType);
    expect(picture.format).toBe(format);
    expect(picture.size).toBe('640x480');
  });

  test.for(['jpeg', 'webp'] as const)('quality of %s', async (format) => {
    const sizes = [];
    for (const quality of [1, 50, 100]) {
      sizes.push((await engine.render(painting, { format, quality })).bytes.length);
    }
    expect(sizes).toEqual(sizes.toSorted((a, b) => a - b));
    expect(sizes[2]).toBeGreaterThan(2 * (sizes[0] ?? 0));
  });

  test('quality does not matter for png', async () => {
    const [low, high] = [
      await engine.render(painting, { quality: 1 }),
      await engine.render(painting, { quality: 100 }),
    ];
    expect(low.bytes.equals(high.bytes)).toBe(true);
  });
});

describe('tall pages', () => {
  test.for([
    ['png', 20_050],
    ['jpeg', 20_050],
    ['webp', 16_350],
    ['webp', 12_050],
  ] as const)('%s is put together without a seam', async ([format, height]) => {
    const { picture } = await engine.shoot(tall(height), { format, isFullPage: true, viewport: { width: 200 } });
    expect(picture.size).toBe(`200x${height}`);
    for (let y = 50; y < height - 100; y += 100) {
      const colour = Math.floor(y / 100) % 2 === 0 ? '#ffffff' : '#0000ff';
      expect(picture.difference(100, y, colour)).toBeLessThan(12);
    }
    // Around the seams of 8,000 px.
    expect(picture.difference(100, 7997, '#0000ff')).toBeLessThan(12);
    expect(picture.difference(100, 8003, '#ffffff')).toBeLessThan(12);
    expect(picture.difference(100, height - 25, '#ff0000')).toBeLessThan(12);
  });

  test('in a scale of 1.5 too', async () => {
    const viewport = { width: 200, deviceScaleFactor: 1.5 };
    const { picture } = await engine.shoot(tall(12_050), { isFullPage: true, viewport });
    expect(picture.size).toBe(`300x${12_050 * 1.5}`);
    for (let y = 75; y < 17_900; y += 150) expect(picture.at(150, y)).toBe(y % 300 === 75 ? '#ffffff' : '#0000ff');
    expect(picture.at(150, picture.height - 10)).toBe('#ff0000');
  });
});

describe('the height that a format can hold', () => {
  test.for([
    ['webp', 16_383, 'jpeg'],
    ['jpeg', 65_500, 'png'],
    ['png', 100_000, 'pdf'],
  ] as const)('%s holds %i px, and not one more', async ([format, limit, other]) => {
    const options = { format, isFullPage: true, viewport: { width: 32 } };
    const { picture } = await engine.shoot(tall(limit), options);
    expect(picture.size).toBe(`32x${limit}`);
    expect(picture.difference(16, limit - 10, '#ff0000')).toBeLessThan(12);
    await expect(engine.render(tall(limit + 1), options)).rejects.toMatchObject({
      code: 'PAGE_TOO_LARGE',
      message: expect.stringContaining(other) as string,
    });
  });

  test('counts pixels of the file', async () => {
    const options = { format: 'webp', isFullPage: true, viewport: { width: 32, deviceScaleFactor: 2 } } as const;
    const { picture } = await engine.shoot(tall(8191), options);
    expect(picture.size).toBe('64x16382');
    await expect(engine.render(tall(8192), options)).rejects.toMatchObject({ code: 'PAGE_TOO_LARGE' });
  });

  test('and the width', async () => {
    const viewport = { width: 7680, height: 16, deviceScaleFactor: 3 };
    await expect(engine.render(painting, { format: 'webp', viewport })).rejects.toMatchObject({
      code: 'PAGE_TOO_LARGE',
      message: expect.stringContaining('wide') as string,
    });
    expect((await engine.shoot(painting, { viewport })).picture.size).toBe('23040x48');
  });

  test('what no format can hold is refused before it takes the memory', async () => {
    const viewport = { width: 7680, deviceScaleFactor: 1 };
    await expect(engine.render(tall(90_000), { isFullPage: true, viewport })).rejects.toMatchObject({
      code: 'PAGE_TOO_LARGE',
      message: expect.stringContaining('megapixels') as string,
    });
  });
});
