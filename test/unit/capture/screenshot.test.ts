import sharp, { type Color, type Sharp } from 'sharp';
import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import { describe, expect, test } from 'vitest';
import { CaptureDeadline } from '../../../services/renderer/page/deadline.ts';
import type { FullPage } from '../../../services/renderer/page/full-page.ts';
import type { OpenPage } from '../../../services/renderer/page/open.ts';
import type { PageRegion } from '../../../services/renderer/page/region.ts';
import { encode, isBlank, takeScreenshot } from '../../../services/renderer/page/screenshot.ts';
import { defaultOptions } from '../../harness/records.ts';

type Params = Readonly<Record<string, unknown>>;

interface Taken {
  readonly options?: Partial<Omit<RenderOptions, 'viewport'>> & { readonly scale?: number; readonly width?: number };
  readonly fullPage?: Partial<FullPage>;
  readonly region?: PageRegion;
  /** The errors with which the first screenshots fail. */
  readonly errors?: readonly Error[];
  /** Boxes of frames that are captured separately. */
  readonly frames?: readonly object[];
}

/** Takes a screenshot in a page of 640 × 480 px whose pictures are numbered. Returns the shot, and the commands without the world's. */
async function take({
  options: { scale = 1, width = 640, ...options } = {},
  fullPage,
  region,
  errors = [],
  frames = [],
}: Taken) {
  const commands: (readonly [name: string, params: Params | number | undefined])[] = [];
  const failures = [...errors];
  let count = 0;
  const send = (name: string, params?: Params) => {
    commands.push([name.replace(/^.*\./, ''), params]);
    const failure = name.endsWith('captureScreenshot') ? failures.shift() : undefined;
    if (failure !== undefined) return Promise.reject(failure);
    return Promise.resolve({ data: Buffer.from(`picture ${(count += 1)}`).toString('base64') });
  };
  const open = {
    cdp: { send },
    deadline: new CaptureDeadline(60_000, new AbortController().signal),
    world: { call: (fn: { readonly name: string }) => Promise.resolve(fn.name === 'findFrames' ? frames : undefined) },
    emulation: {
      viewport: { width, height: 480 },
      grow: (height: number) => {
        commands.push(['grow', height]);
        return Promise.resolve();
      },
    },
  } as unknown as OpenPage;
  const viewport = { width, height: 480, deviceScaleFactor: scale };
  const page = fullPage && { left: 0, truncated: false, isLocked: false, strategy: 'single', height: 480, ...fullPage };
  const shot = await takeScreenshot(
    open,
    { ...defaultOptions, format: 'png', ...options, viewport },
    { fullPage: page as FullPage | undefined, region },
  );
  return { shot, commands };
}

const fast = { format: 'png', optimizeForSpeed: true };

describe('takeScreenshot', () => {
  test('takes the viewport in one file of the format', async () => {
    const { shot, commands } = await take({});
    expect(commands).toEqual([['captureScreenshot', fast]]);
    expect(shot).toEqual({
      kind: 'file',
      bytes: Buffer.from('picture 1'),
      interrupted: false,
      width: 640,
      height: 480,
    });
    const jpeg = await take({ options: { format: 'jpeg', quality: 70, scale: 1.25 } });
    expect(jpeg.commands).toEqual([['captureScreenshot', { format: 'jpeg', quality: 70 }]]);
    expect(jpeg.shot).toMatchObject({ width: 800, height: 600 });
    const resize = { width: 10, fit: 'cover', enlarge: false } as const;
    expect((await take({ options: { format: 'webp', resize } })).commands).toEqual([['captureScreenshot', fast]]);
  });

  test('takes a page and a region in a clip', async () => {
    const page = await take({ fullPage: { height: 900, left: 7 } });
    expect(page.commands).toEqual([
      ['captureScreenshot', { ...fast, clip: { x: 7, y: 0, width: 640, height: 900, scale: 1 } }],
    ]);
    expect(page.shot).toMatchObject({ kind: 'file', width: 640, height: 900 });
    const region = { x: 5, y: 6, width: 70, height: 80 } as PageRegion;
    const part = await take({ region, fullPage: { height: 900 } });
    expect(part.commands).toEqual([['captureScreenshot', { ...fast, clip: { ...region, scale: 1 } }]]);
    expect(part.shot).toMatchObject({ width: 70, height: 80 });
    expect((await take({ region })).commands).toHaveLength(1);
  });

  test('takes a tall page in tiles', async () => {
    expect((await take({ fullPage: { height: 16_000 } })).commands).toHaveLength(1);
    const { shot, commands } = await take({ fullPage: { height: 16_001, left: 3 } });
    const clips = [0, 8000, 16_000].map((y) => ({ x: 3, y, width: 640, height: y === 16_000 ? 1 : 8000, scale: 1 }));
    expect(commands).toEqual(clips.map((clip) => ['captureScreenshot', { ...fast, clip }]));
    expect(shot).toEqual({
      kind: 'tiles',
      tiles: [1, 2, 3].map((number) => Buffer.from(`picture ${number}`)),
      overlays: [],
      interrupted: false,
      width: 640,
      height: 16_001,
    });
    const firstOf = async (options: NonNullable<Taken['options']>, height: number) => {
      const all = (await take({ options, fullPage: { height } })).commands;
      const [, params] = all[0] ?? [];
      return params as unknown;
    };
    // A tile has at most 20 million pixels, and its height is a multiple of 100 px.
    expect(await firstOf({ width: 5000, scale: 1 }, 8001)).toMatchObject({ clip: { height: 4000 } });
    expect(await firstOf({ width: 6000, scale: 1 }, 8001)).toMatchObject({ clip: { height: 3300 } });
    expect(await firstOf({ width: 1000, scale: 3 }, 6000)).toMatchObject({ clip: { height: 2200 } });
    expect(await firstOf({ width: 5000, scale: 1 }, 8000)).toMatchObject({ clip: { height: 8000 } });
    expect((await take({ options: { width: 5000 }, fullPage: { height: 8000 } })).commands).toHaveLength(1);
    expect((await take({ options: { width: 5000 }, fullPage: { height: 8001 } })).commands).toHaveLength(3);
  });

  test('enlarges a viewport that is taken in tiles', async () => {
    const { commands } = await take({ options: { width: 20_000, scale: 3 } });
    expect(commands[0]).toEqual(['grow', 480]);
    const region = { x: 0, y: 50, width: 10, height: 17_000 } as PageRegion;
    const part = await take({ region });
    expect(part.commands.map(([name]) => name)).toEqual([
      'captureScreenshot',
      'captureScreenshot',
      'captureScreenshot',
    ]);
    expect(part.commands[1]?.[1]).toMatchObject({ clip: { y: 8050, height: 8000 } });
  });

  test('refuses a picture that the format cannot hold', async () => {
    await expect(take({ options: { format: 'webp' }, fullPage: { height: 16_384 } })).rejects.toThrow('webp holds');
    await expect(take({ options: { format: 'webp', scale: 2 }, fullPage: { height: 8192 } })).rejects.toThrow(
      'webp holds',
    );
  });

  test('omits the background', async () => {
    const { commands } = await take({ options: { omitBackground: true } });
    const clear = ['setDefaultBackgroundColorOverride', { color: { r: 0, g: 0, b: 0, a: 0 } }];
    expect(commands).toEqual([clear, ['captureScreenshot', fast]]);
  });

  test('places frames over a page that has grown', async () => {
    const box = { x: 10.4, y: 600, width: 100, height: 500, innerX: 0, innerY: 0 };
    const clear = ['setDefaultBackgroundColorOverride', { color: { r: 0, g: 0, b: 0, a: 0 } }] as const;
    const piece = (height: number) =>
      ['captureScreenshot', { ...fast, clip: { x: 2, y: 0, width: 100, height, scale: 1 } }] as const;
    const grown = { height: 1200, left: 2, strategy: 'grown' } as const;
    const { shot, commands } = await take({ options: { scale: 2 }, fullPage: grown, frames: [box] });
    const page = ['captureScreenshot', { ...fast, clip: { x: 2, y: 0, width: 640, height: 1200, scale: 1 } }];
    expect(commands).toEqual([clear, piece(480), piece(20), ['setDefaultBackgroundColorOverride', {}], page]);
    expect(shot).toMatchObject({
      kind: 'tiles',
      tiles: [Buffer.from('picture 5')],
      overlays: [
        { input: Buffer.from('picture 2'), left: 21, top: 1200 },
        { input: Buffer.from('picture 3'), left: 21, top: 2160 },
      ],
    });
    const clearPage = await take({ options: { omitBackground: true }, fullPage: grown, frames: [box] });
    expect(clearPage.commands).toEqual([clear, piece(480), piece(20), page]);
    expect((await take({ fullPage: grown })).commands).toEqual([page]);
    expect((await take({ fullPage: { ...grown, strategy: 'single' }, frames: [box] })).commands).toEqual([page]);
  });

  test('tries again four times', async () => {
    const errors = Array.from({ length: 5 }, (_, index) => new Error(`failure ${index + 1}`));
    const { shot } = await take({ errors: errors.slice(0, 2) });
    expect(shot).toMatchObject({ kind: 'file', bytes: Buffer.from('picture 1'), interrupted: false });
    await expect(take({ errors })).rejects.toThrow('failure 5');
  });
});

const plain = (width: number, height: number, background: Color = '#00aa00', channels: 3 | 4 = 3) =>
  sharp({ create: { width, height, channels, background } });

describe('encode', () => {
  const tiled = (tiles: readonly Buffer[], height: number, overlays: readonly object[] = []) =>
    ({ kind: 'tiles', tiles, overlays, interrupted: false, width: 300, height }) as never;
  const colorsAt = async (bytes: Buffer, ...rows: readonly number[]) => {
    const { data, info } = await sharp(bytes).raw().toBuffer({ resolveWithObject: true });
    return rows.map((row) =>
      data
        .subarray(row * info.width * info.channels)
        .subarray(0, info.channels)
        .toString('hex'),
    );
  };

  test('joins tiles of which the last but one is shorter', async () => {
    const tiles = await Promise.all(
      [plain(300, 200), plain(300, 50, '#aa0000'), plain(300, 200, '#0000aa')].map((each) => each.png().toBuffer()),
    );
    const { bytes, ...size } = await encode(tiled(tiles, 450), defaultOptions);
    expect(size).toEqual({ width: 300, height: 450 });
    const png = { ...defaultOptions, format: 'png' } as const;
    const joined = (await encode(tiled(tiles, 450), png)).bytes;
    expect(await colorsAt(joined, 0, 199, 200, 249, 250, 449)).toEqual([
      '00aa00',
      '00aa00',
      'aa0000',
      'aa0000',
      '0000aa',
      '0000aa',
    ]);
    const clear = (await encode(tiled(tiles, 450), { ...png, omitBackground: true })).bytes;
    expect(await colorsAt(clear, 249, 250)).toEqual(['aa0000ff', '0000aaff']);
    expect(bytes.length).toBeGreaterThan(0);
  });

  test('places overlays, also over one tile', async () => {
    const overlay = { input: await plain(300, 10, '#0000aa').png().toBuffer(), left: 0, top: 20 };
    const [tile] = [await plain(300, 100).png().toBuffer()];
    const { bytes } = await encode(tiled([tile], 100, [overlay]), { ...defaultOptions, format: 'png' });
    expect(await colorsAt(bytes, 19, 20, 29, 30)).toEqual(['00aa00', '0000aa', '0000aa', '00aa00']);
  });

  test('resizes', async () => {
    const bytes = await plain(300, 200).png().toBuffer();
    const shot = { kind: 'file', bytes, interrupted: false, width: 300, height: 200 } as const;
    const resized = async (resize: object, more: object = {}) => {
      const { bytes: file, ...size } = await encode(shot, {
        ...defaultOptions,
        format: 'png',
        ...more,
        resize,
      } as never);
      expect(size.originalSize).toEqual({ width: 300, height: 200 });
      return { file, size: `${size.width} ${size.height}` };
    };
    const inside = { fit: 'inside', enlarge: false };
    expect((await resized({ ...inside, width: 150 })).size).toBe('150 100');
    expect((await resized({ ...inside, height: 50 })).size).toBe('75 50');
    expect((await resized({ ...inside, width: 600 })).size).toBe('300 200');
    expect((await resized({ ...inside, width: 600, enlarge: true })).size).toBe('600 400');
    const contain = { fit: 'contain', width: 100, height: 100, enlarge: true };
    expect(await colorsAt((await resized(contain)).file, 0, 50)).toEqual(['ffffff', '00aa00']);
    expect(await colorsAt((await resized(contain, { omitBackground: true })).file, 0)).toEqual(['ffffff00']);
    expect((await sharp((await resized(contain, { format: 'webp' })).file).metadata()).format).toBe('webp');
  });

  test('refuses a size that the format cannot hold', async () => {
    const thin = {
      kind: 'file',
      bytes: await plain(2000, 1).png().toBuffer(),
      interrupted: false,
      width: 2000,
      height: 1,
    } as const;
    const to = (resize: object) => encode(thin, { ...defaultOptions, format: 'webp', resize } as never);
    await expect(to({ height: 9, fit: 'inside', enlarge: true })).rejects.toThrow('18000 px wide');
    expect(await to({ height: 9, fit: 'inside', enlarge: false })).toMatchObject({ width: 2000 });
    const tall = { ...thin, bytes: await plain(1, 2000).png().toBuffer(), width: 1, height: 2000 } as const;
    const tallTo = encode(tall, {
      ...defaultOptions,
      format: 'webp',
      resize: { width: 9, fit: 'inside', enlarge: true },
    } as never);
    await expect(tallTo).rejects.toThrow('18000 px tall');
  });
});

describe('isBlank', () => {
  const withDot = (dot: Color, top: number, background: Color = '#808080') =>
    plain(200, 200, background).composite([
      { input: { create: { width: 1, height: 1, channels: 3, background: dot } }, left: 100, top },
    ]);
  const blank = async (image: Sharp, format: 'png' | 'jpeg' | 'webp' = 'png', quality = 80) => {
    const file = image.png();
    const { data, info } = await file.toBuffer({ resolveWithObject: true });
    return isBlank({ bytes: data, width: info.width, height: info.height }, { format, quality });
  };

  test('looks at all rows and channels', async () => {
    expect(await blank(plain(200, 200))).toBe(true);
    expect(await blank(plain(200, 100))).toBe(true);
    for (const top of [0, 127, 128, 199]) {
      for (const dot of ['#828080', '#808280', '#808082', '#7e8080'])
        expect(await blank(withDot(dot, top)), dot).toBe(false);
      expect(await blank(withDot('#818080', top))).toBe(true);
      expect(await blank(withDot('#7f8080', top))).toBe(true);
    }
  });

  test('ignores small differences of color that lossy encoders make', async () => {
    for (const [quality, most] of [
      [80, 6],
      [79, 12],
      [50, 12],
      [49, 28],
    ] as const) {
      const dot = (drift: number) => ({ r: 128 + drift, g: 128, b: 128 });
      for (const top of [0, 199]) {
        expect(await blank(withDot(dot(most), top), 'webp', quality), `${quality}`).toBe(true);
        expect(await blank(withDot(dot(most + 1), top), 'webp', quality), `${quality}`).toBe(false);
      }
      expect(await blank(withDot(dot(2), 0), 'jpeg', quality)).toBe(false);
    }
  });

  test('does not decode files that are too large for one color', async () => {
    const file = await plain(1000, 1000).png({ compressionLevel: 0 }).toBuffer();
    const size = { width: 1000, height: 1000 };
    expect(await isBlank({ bytes: file, ...size }, { format: 'png', quality: 80 })).toBe(false);
    // Padding after the end of the file is ignored.
    const padded = async (bytes: number, format: 'png' | 'jpeg' | 'webp') => {
      const image = await plain(1000, 1000).png({ palette: true }).toBuffer();
      const all = Buffer.concat([image, Buffer.alloc(Math.max(0, bytes - image.length))]);
      return isBlank({ bytes: all, ...size }, { format, quality: 80 });
    };
    for (const [format, most] of [
      ['png', 50_000],
      ['jpeg', 20_000],
      ['webp', 12_000],
    ] as const)
      expect([await padded(most, format), await padded(most + 1, format)], format).toEqual([true, false]);
    const tiny = await plain(10, 10).png().toBuffer();
    const paddedTiny = (bytes: number) =>
      isBlank(
        { bytes: Buffer.concat([tiny, Buffer.alloc(bytes - tiny.length)]), width: 10, height: 10 },
        { format: 'png', quality: 80 },
      );
    expect([await paddedTiny(4096), await paddedTiny(4097)]).toEqual([true, false]);
  });
});
