import sharp from 'sharp';
import { maxLastPictureBytes } from '@webcapture/shared/files/diagnostics-file.ts';
import type { OpenPage } from '../page/open.ts';

/** Sides in pixels and qualities that are tried, until the file is small enough. */
const sizes = [
  { side: 1280, quality: 60 },
  { side: 800, quality: 40 },
] as const;

export interface LastPicture {
  readonly jpeg: Buffer;
  readonly width: number;
  readonly height: number;
}

/** Takes what a page shows now, as a small JPEG file; null where it cannot be made small enough. */
export async function takeLastPicture({ cdp }: OpenPage): Promise<LastPicture | null> {
  const { data } = await cdp.send('Page.captureScreenshot', { format: 'jpeg', quality: 80 });
  const shot = sharp(Buffer.from(data, 'base64'), { limitInputPixels: false });
  for (const { side, quality } of sizes) {
    const resized = shot.clone().resize({ width: side, height: side, fit: 'inside', withoutEnlargement: true });
    const { data: jpeg, info } = await resized.jpeg({ quality }).toBuffer({ resolveWithObject: true });
    if (jpeg.length <= maxLastPictureBytes) return { jpeg, width: info.width, height: info.height };
  }
  return null;
}
