import { beforeAll, describe, expect, test } from 'vitest';
import { html, sharedEngine, type TestEngine } from '../../harness/engine.ts';

let engine: TestEngine;

beforeAll(async () => {
  engine = await sharedEngine();
});

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

  test('quality has no effect on png', async () => {
    const [low, high] = [
      await engine.render(painting, { quality: 1 }),
      await engine.render(painting, { quality: 100 }),
    ];
    expect(low.bytes.equals(high.bytes)).toBe(true);
  });
});

describe('the maximum size of a format', () => {
  test('also limits the width', async () => {
    const viewport = { width: 7680, height: 16, deviceScaleFactor: 3 };
    await expect(engine.render(painting, { format: 'webp', viewport })).rejects.toMatchObject({
      code: 'PAGE_TOO_LARGE',
      message: expect.stringContaining('wide') as string,
    });
    expect((await engine.shoot(painting, { viewport })).picture.size).toBe('23040x48');
  });

  test('a picture too large for every format is refused before it uses memory', async () => {
    const tall = { kind: 'html', html: html('<div style="height:90000px"></div>') } as const;
    const viewport = { width: 7680, deviceScaleFactor: 1 };
    await expect(engine.render(tall, { isFullPage: true, viewport })).rejects.toMatchObject({
      code: 'PAGE_TOO_LARGE',
      message: expect.stringContaining('megapixels') as string,
    });
  });
});
