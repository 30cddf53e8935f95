import sharp, { type Sharp } from 'sharp';
import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import type { Resize } from '@webcapture/shared/api/option-schemas.ts';
import type { ImageFormat } from '@webcapture/shared/api/formats.ts';
import { DeadlineError, delay } from '@webcapture/shared/runtime/deadline.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { fileOf } from '../browser/file-responses.ts';
import { callTimeoutMs } from './deadline.ts';
import { takeFrames } from './frame-shots.ts';
import type { FullPage } from './full-page.ts';
import { type OpenPage, stopPage } from './open.ts';
import type { PageRegion } from './region.ts';
import { assertHolds } from './size-limits.ts';
import { takeTiles } from './tiles.ts';

/** The captured picture: one file in the requested format, or tiles from top to bottom that are joined later. */
export type Shot = {
  readonly width: number;
  readonly height: number;
  /** Whether the page drew nothing until its scripts were stopped. The picture shows its state at that time. */
  readonly interrupted: boolean;
} & (
  | { readonly kind: 'file'; readonly bytes: Buffer }
  | {
      readonly kind: 'tiles';
      /** png files, each as wide as the picture. */
      readonly tiles: readonly Buffer[];
      /** png files to place over the tiles. Offsets in pixels from the top left corner of the picture. */
      readonly overlays: readonly { readonly input: Buffer; readonly left: number; readonly top: number }[];
    }
);

/** Maximum height of a picture that is taken in one screenshot. All graphics drivers support surfaces up to 16,384 px. */
const maxShotHeight = 16_000;
/** Maximum number of pixels of one screenshot. A larger one needs too much memory. */
const maxShotPixels = 40_000_000;
/** Maximum height of the tiles of a larger picture, in pixels. */
const maxTileHeight = 8000;
/**
 * Maximum number of pixels in a tile. While Chromium encodes a tile, it holds up to two copies of it. A page of 7680 × 7680 px takes
 * 640 MiB with this limit, and up to 900 MiB with {@link maxShotPixels}. The time is the same.
 */
const maxTilePixels = 20_000_000;

/**
 * Time limit of the screenshot of a page whose scripts were stopped. A screenshot that waited for the scripts completes within this time.
 */
const shotTimeoutMs = 15_000;
/**
 * Time limit of the first screenshot. A page that is not drawn within it waits for a stylesheet that does not load, or is busy with
 * scripts.
 */
const firstShotTimeoutMs = 4000;

/**
 * Captures a picture of the page in its current layout.
 *
 * @param fullPage the page laid out at full height; undefined for the viewport
 * @param region the region to capture instead of the viewport
 * @throws ServiceError PAGE_TOO_LARGE, CAPTURE_TIMEOUT
 */
export async function takeScreenshot(
  open: OpenPage,
  options: RenderOptions,
  { fullPage, region }: { readonly fullPage: FullPage | undefined; readonly region: PageRegion | undefined },
): Promise<Shot> {
  const { viewport, quality, resize } = options;
  // A picture that is encoded again later is captured losslessly.
  const format = resize ? 'png' : (options.format as ImageFormat);
  const scale = viewport.deviceScaleFactor;
  // Clip coordinates start at the left edge of the scrollable area.
  const ofPage = { x: fullPage?.left ?? 0, y: 0, width: viewport.width, height: fullPage?.height ?? viewport.height };
  const { x, y: top, width, height } = region ?? ofPage;
  const pixels = { width: Math.round(width * scale), height: Math.round(height * scale) };
  assertHolds(options.format, pixels.width, pixels.height);
  if (options.omitBackground === true) await omitBackground(open);

  if (fullPage?.strategy === 'tiles') {
    const taken = await takeTiles(open, options, height, (tile) =>
      capture(open, { format: 'png', optimizeForSpeed: true, clip: { ...tile, x, width, scale: 1 } }),
    );
    const interrupted = taken.some((tile) => tile.interrupted);
    return { kind: 'tiles', tiles: taken.map(({ bytes }) => bytes), overlays: [], interrupted, ...pixels };
  }
  const overlays = fullPage?.strategy === 'grown' ? await takeOverlays(open, x, options) : [];

  if (overlays.length === 0 && pixels.height <= maxShotHeight && pixels.width * pixels.height <= maxShotPixels) {
    const clip = fullPage || region ? { clip: { x, y: top, width, height, scale: 1 } } : {};
    const taken = await capture(open, {
      format,
      ...(format === 'png' ? { optimizeForSpeed: true } : { quality }),
      ...clip,
    });
    return { kind: 'file', ...taken, ...pixels };
  }

  if (!fullPage && !region) await open.emulation.grow(height);
  const step = tileStep(width, scale);
  const tiles: Buffer[] = [];
  let interrupted = false;
  for (let y = 0; y < height; y += step) {
    const clip = { x, y: top + y, width, height: Math.min(step, height - y), scale: 1 };
    const taken = await capture(open, { format: 'png', optimizeForSpeed: true, clip });
    tiles.push(taken.bytes);
    interrupted ||= taken.interrupted;
  }
  return { kind: 'tiles', tiles, overlays, interrupted, ...pixels };
}

/** Captures the frames that the browser does not draw outside the viewport. See {@link takeFrames}. */
async function takeOverlays(open: OpenPage, left: number, options: RenderOptions): Promise<TiledShot['overlays']> {
  const scale = options.viewport.deviceScaleFactor;
  let isTransparent = options.omitBackground === true;
  const pieces = await takeFrames(open, async (clip) => {
    // A frame without a background shows the page behind it.
    if (!isTransparent) await omitBackground(open);
    isTransparent = true;
    return capture(open, { format: 'png', optimizeForSpeed: true, clip: { x: left, y: 0, ...clip, scale: 1 } });
  });
  if (isTransparent && options.omitBackground !== true) await omitBackground(open, false);
  return pieces.map(({ x, y, picture }) => ({
    input: picture.bytes,
    left: Math.round(x * scale),
    top: Math.round(y * scale),
  }));
}

async function omitBackground({ cdp, deadline }: OpenPage, isOmitted = true): Promise<void> {
  const color = isOmitted ? { color: { r: 0, g: 0, b: 0, a: 0 } } : {};
  await deadline.run(cdp.send('Emulation.setDefaultBackgroundColorOverride', color), callTimeoutMs, 'the background');
}

/** Height of a tile in CSS pixels. For scales of up to two decimals, it is a whole number of device pixels. */
function tileStep(width: number, scale: number): number {
  const pixels = Math.min(maxTileHeight, maxTilePixels / (width * scale));
  return Math.max(100, Math.floor(pixels / scale / 100) * 100);
}

/** Delays between attempts to capture a page that has just navigated, in milliseconds. */
const retryDelaysMs = [30, 100, 300, 1000];

interface ScreenshotParams {
  readonly format: ImageFormat;
  readonly quality?: number;
  readonly optimizeForSpeed?: boolean;
  readonly clip?: { x: number; y: number; width: number; height: number; scale: number };
}

async function capture(
  open: OpenPage,
  params: ScreenshotParams,
): Promise<{ readonly bytes: Buffer; readonly interrupted: boolean }> {
  const { cdp, deadline } = open;
  const take = async () => fileOf(await cdp.send('Page.captureScreenshot', params));
  // Right after a navigation, the page may have no surface yet ("Unable to capture screenshot") or no active document ("Not attached to an
  // active page"). On a busy machine this state lasts longer.
  const retried = async () => {
    for (const waitMs of retryDelaysMs) {
      try {
        return await take();
      } catch {
        await delay(waitMs);
      }
    }
    return take();
  };
  try {
    const shot = retried();
    let interrupted = false;
    const bytes = await deadline.run(shot, firstShotTimeoutMs, 'the shot').catch(async (error: unknown) => {
      if (!(error instanceof DeadlineError)) throw error;
      interrupted = true;
      await stopPage(open);
      // A screenshot that waited for a stylesheet or scripts completes now. A screenshot that was lost never completes.
      return deadline.run(Promise.any([shot, take()]), shotTimeoutMs, 'the shot');
    });
    return { bytes, interrupted };
  } catch (error) {
    if (error instanceof DeadlineError) {
      throw new ServiceError(
        'CAPTURE_TIMEOUT',
        'The page drew nothing: its scripts are busy, or it waits for a resource that does not load.',
        {
          causedBy: 'page',
          cause: error,
        },
      );
    }
    throw error;
  }
}

type TiledShot = Extract<Shot, { kind: 'tiles' }>;

export interface EncodedImage {
  readonly bytes: Buffer;
  readonly width: number;
  readonly height: number;
  /** Size before resizing, in pixels. Undefined if the picture was not resized. */
  readonly originalSize?: { readonly width: number; readonly height: number };
}

/** Our own pictures may exceed the limits that sharp has for untrusted input. */
const trusted = { limitInputPixels: false, unlimited: true } as const;

/**
 * Makes the final file: joins the tiles, resizes the picture, and checks its size.
 *
 * @throws ServiceError CAPTURE_FAILED if the file is empty or does not have the requested size
 */
export async function encode(shot: Shot, options: RenderOptions): Promise<EncodedImage> {
  const bytes = shot.kind === 'file' ? shot.bytes : await join(shot, options);
  if (bytes.length === 0) throw failed('The browser returned an empty file.');
  const image = await measure(bytes, shot);
  return options.resize ? resize(image, options.resize, options) : image;
}

async function measure(bytes: Buffer, shot: Shot): Promise<EncodedImage> {
  const { width, height } = await sharp(bytes, trusted).metadata();
  // Rounding at fractional scales may change the size by a pixel. The size in the file is the actual one.
  if (Math.abs(width - shot.width) > 1 || Math.abs(height - shot.height) > 1) {
    throw failed(
      `The browser returned a picture of ${width} × ${height} px instead of ${shot.width} × ${shot.height} px.`,
    );
  }
  return { bytes, width, height };
}

/** @throws ServiceError PAGE_TOO_LARGE */
async function resize(
  { bytes, ...originalSize }: EncodedImage,
  { width, height, fit, enlarge }: Resize,
  options: RenderOptions,
): Promise<EncodedImage> {
  const format = options.format as ImageFormat;
  // If only one side is given, the other side of a long, narrow picture may exceed the maximum of the format.
  const follows = (side: 'width' | 'height', other: 'width' | 'height', length: number) =>
    enlarge ? Math.round((originalSize[side] / originalSize[other]) * length) : 1;
  assertHolds(
    format,
    width ?? follows('width', 'height', height ?? 1),
    height ?? follows('height', 'width', width ?? 1),
  );
  const background = { r: 255, g: 255, b: 255, alpha: options.omitBackground === true ? 0 : 1 };
  const resized = sharp(bytes, trusted).resize({
    ...(width === undefined ? {} : { width }),
    ...(height === undefined ? {} : { height }),
    fit,
    background,
    withoutEnlargement: !enlarge,
  });
  const encoded = encodeAs(resized, format, options.quality);
  const { data, info } = await encoded.toBuffer({ resolveWithObject: true });
  return { bytes: data, width: info.width, height: info.height, originalSize };
}

async function join(shot: TiledShot, options: RenderOptions): Promise<Buffer> {
  const { omitBackground = false } = options;
  // A picture that is resized is decoded again immediately, so it is encoded as png.
  const format = options.resize ? 'png' : (options.format as ImageFormat);
  const tiles = await cutEvenly(shot.tiles, omitBackground);
  const sizes = await Promise.all(tiles.map((tile) => sharp(tile, trusted).metadata()));
  const width = Math.min(...sizes.map((size) => size.width));
  const height = sizes.reduce((sum, size) => sum + size.height, 0);
  // sharp gives each tile the height of the tallest one. The blank area below the last tile is cut off.
  const [first] = tiles;
  const joined =
    tiles.length === 1
      ? sharp(first, trusted)
      : sharp([...tiles], { ...trusted, join: { across: 1 } }).extract({ left: 0, top: 0, width, height });
  const complete = shot.overlays.length === 0 ? joined : joined.composite([...shot.overlays]);
  return encodeAs(withAlpha(complete, omitBackground), format, options.quality).toBuffer();
}

/** Splits the last two tiles again if the first of them is shorter than the others, because only the last tile may be shorter. */
async function cutEvenly(tiles: readonly Buffer[], omitBackground: boolean): Promise<readonly Buffer[]> {
  const [upper, lower] = tiles.slice(-2);
  if (upper === undefined || lower === undefined) return tiles;
  const [short, tall] = await Promise.all([sharp(upper, trusted).metadata(), sharp(lower, trusted).metadata()]);
  if (short.height >= tall.height) return tiles;
  const channels = omitBackground ? 4 : 3;
  const pixels = await Promise.all(
    [upper, lower].map((tile) => withAlpha(sharp(tile, trusted), omitBackground).raw().toBuffer()),
  );
  const both = Buffer.concat(pixels);
  const rowBytes = tall.width * channels;
  // These pictures are decoded again immediately, so compression is not worth its time.
  const cut = (top: number, bottom: number) =>
    sharp(both.subarray(top * rowBytes, bottom * rowBytes), {
      ...trusted,
      raw: { width: tall.width, height: bottom - top, channels },
    })
      .png({ compressionLevel: 0 })
      .toBuffer();
  return [...tiles.slice(0, -2), await cut(0, tall.height), await cut(tall.height, tall.height + short.height)];
}

/** Pages have no transparent pixels unless their background is omitted. */
const withAlpha = (image: Sharp, isWanted: boolean): Sharp => (isWanted ? image.ensureAlpha() : image.removeAlpha());

function encodeAs(image: Sharp, format: ImageFormat, quality: number): Sharp {
  switch (format) {
    case 'png':
      // Level 3 gives about the same size as the default in half the time.
      return image.png({ compressionLevel: 3 });
    case 'jpeg':
      return image.jpeg({ quality });
    case 'webp':
      return image.webp({ quality, effort: 2 });
  }
}

function failed(message: string): ServiceError {
  return new ServiceError('CAPTURE_FAILED', `${message} Send the request again.`, { causedBy: 'service' });
}

/**
 * A picture of a single color compresses to almost nothing. Therefore only files with fewer bytes per pixel than this are decoded to check
 * it. In measurements with single colors at all qualities, Chromium's fast png needs at most 0.025, jpeg 0.0084, and webp 0.0052.
 */
const maxBytesPerPixel = { png: 0.05, jpeg: 0.02, webp: 0.012 } as const satisfies Record<ImageFormat, number>;
/** Files up to this size are always decoded for that check. In such files, the headers can take more bytes than the pixels. */
const minFileBytes = 4096;

/** Number of rows that are checked first. Almost every page shows something in them. */
const firstRows = 128;

/** Whether the picture has a single color. Decodes as little of the picture as necessary. */
export async function isBlank(
  { bytes, width, height }: EncodedImage,
  options: Pick<RenderOptions, 'format' | 'quality'>,
): Promise<boolean> {
  const format = options.format as ImageFormat;
  if (bytes.length > minFileBytes && bytes.length / (width * height) > maxBytesPerPixel[format]) return false;
  const maxDrift = tolerance(options);
  const rows = Math.min(firstRows, height);
  const top = sharp(bytes, trusted).extract({ left: 0, top: 0, width, height: rows });
  const { data, info } = await top.raw().toBuffer({ resolveWithObject: true });
  if (!isUniform(data, info.channels, maxDrift)) return false;
  if (rows === height) return true;
  // The following check is much slower: it decodes the whole picture and computes more statistics than needed.
  const { channels } = await sharp(bytes, trusted).stats();
  return channels.every(({ min, max }) => max - min <= maxDrift);
}

/** Whether each channel varies by at most `maxDrift` over all pixels. */
function isUniform(data: Buffer, channels: number, maxDrift: number): boolean {
  const least = [...data.subarray(0, channels)];
  const greatest = [...least];
  for (let index = 0; index < data.length; index += channels) {
    for (let channel = 0; channel < channels; channel += 1) {
      const value = data[index + channel] ?? 0;
      if (value < (least[channel] ?? 0)) least[channel] = value;
      else if (value > (greatest[channel] ?? 0)) greatest[channel] = value;
      else continue;
      if ((greatest[channel] ?? 0) - (least[channel] ?? 0) > maxDrift) return false;
    }
  }
  return true;
}

/** Returns how far the encoder lets a single color vary. Measured with single colors at qualities from 1 to 100. */
function tolerance({ format, quality }: Pick<RenderOptions, 'format' | 'quality'>): number {
  if (format !== 'webp') return 1;
  if (quality >= 80) return 6;
  return quality >= 50 ? 12 : 28;
}
