import type { Format } from '@webcapture/shared/contract/formats.ts';
import type { RenderOptions } from '@webcapture/shared/contract/render-options.ts';
import { ServiceError } from '@webcapture/shared/errors/service-error.ts';
import { DeadlineError } from '@webcapture/shared/lifecycle/deadline.ts';
import { delay } from '@webcapture/shared/lifecycle/delay.ts';
import type { OpenPage } from './open.ts';
import { assertHolds } from './page-limits.ts';
import { stopPage } from './stop-page.ts';
import type { WholePage } from './whole-page.ts';

export type ImageFormat = Exclude<Format, 'pdf'>;

/** What was taken: one file as asked for, or tiles to be put together, top first. */
export type Shot = {
  readonly width: number;
  readonly height: number;
  /** The page drew nothing until its scripts were ended, and is shown as it stood then. */
  readonly interrupted: boolean;
} & (
  | { readonly kind: 'file'; readonly bytes: Buffer }
  | {
      readonly kind: 'tiles';
      /** png files as wide as the picture. */
      readonly tiles: readonly Buffer[];
    }
);

/** The tallest picture taken at once: surfaces of 16,384 px are the largest that every graphics driver has. */
const mostHeightAtOnce = 16_000;
/** One shot of more pixels than these takes too much memory. */
const mostPixelsAtOnce = 40_000_000;
/** What is larger is taken in tiles of so many pixels. */
const tileHeight = 8000;

const shotMs = 15_000;
/** A page that has not drawn by then waits for a stylesheet that does not come, or is busy with its scripts. */
const firstShotMs = 4000;

/**
 * Takes the picture of what is laid out.
 *
 * @param whole the page laid out for one look; undefined for the viewport
 * @throws ServiceError PAGE_TOO_LARGE, CAPTURE_TIMEOUT
 */
export async function shoot(open: OpenPage, options: RenderOptions, whole: WholePage | undefined): Promise<Shot> {
  const format = options.format as ImageFormat;
  const { viewport, quality } = options;
  const scale = viewport.deviceScaleFactor;
  const cssHeight = whole?.height ?? viewport.height;
  // Clips count from the left end of what can be scrolled to.
  const x = whole?.left ?? 0;
  const pixels = { width: Math.round(viewport.width * scale), height: Math.round(cssHeight * scale) };
  assertHolds(format, pixels.width, pixels.height);

  if (pixels.height <= mostHeightAtOnce && pixels.width * pixels.height <= mostPixelsAtOnce) {
    const clip = whole ? { clip: { x, y: 0, width: viewport.width, height: cssHeight, scale: 1 } } : {};
    const taken = await capture(open, {
      format,
      ...(format === 'png' ? { optimizeForSpeed: true } : { quality }),
      ...clip,
    });
    return { kind: 'file', ...taken, ...pixels };
  }

  if (!whole) await open.metrics.grow(cssHeight);
  const step = tileStep(viewport.width, scale);
  const tiles: Buffer[] = [];
  let interrupted = false;
  for (let y = 0; y < cssHeight; y += step) {
    const clip = { x, y, width: viewport.width, height: Math.min(step, cssHeight - y), scale: 1 };
    const taken = await capture(open, { format: 'png', optimizeForSpeed: true, clip });
    tiles.push(taken.bytes);
    interrupted ||= taken.interrupted;
  }
  return { kind: 'tiles', tiles, interrupted, ...pixels };
}

/** Height of a tile in CSS pixels: a whole number of device pixels too, for scales of up to two decimals. */
function tileStep(width: number, scale: number): number {
  const pixels = Math.min(tileHeight, mostPixelsAtOnce / (width * scale));
  return Math.max(100, Math.floor(pixels / scale / 100) * 100);
}

/** Milliseconds between two attempts at a page that has just moved on. */
const surfaceDelays = [30, 100, 300, 1000];

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
  const { cdp, lifeline } = open;
  const take = async () => (await cdp.send('Page.captureScreenshot', { ...params, captureBeyondViewport: false })).data;
  // Right after a navigation there may be no surface ("Unable to capture screenshot"), or no document that is shown ("Not
  // attached to an active page"), for as long as a busy machine takes to swap them.
  const retried = async () => {
    for (const waitMs of surfaceDelays) {
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
    const data = await lifeline.run(shot, firstShotMs, 'the shot').catch(async (error: unknown) => {
      if (!(error instanceof DeadlineError)) throw error;
      interrupted = true;
      await stopPage(open);
      // One that waited for a stylesheet, or for scripts, comes now; but one that was lost never does.
      return lifeline.run(Promise.any([shot, take()]), shotMs, 'the shot');
    });
    return { bytes: Buffer.from(data, 'base64'), interrupted };
  } catch (error) {
    if (error instanceof DeadlineError) {
      throw new ServiceError('CAPTURE_TIMEOUT', 'The page drew nothing: it is busy, or waits for what does not come.', {
        cause: error,
      });
    }
    throw error;
  }
}
