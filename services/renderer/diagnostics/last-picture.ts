import sharp from 'sharp';
import { maxLastPictureBytes } from '@webcapture/shared/files/diagnostics-file.ts';
import type { PageSession } from '../browser/page.ts';

/** Maximum side in pixels and quality of each attempt, until the file is small enough. */
const attempts = [
  { side: 1280, quality: 60 },
  { side: 800, quality: 40 },
] as const;

export interface LastPicture {
  readonly jpeg: Buffer;
  readonly width: number;
  readonly height: number;
}

/** Takes a small JPEG picture of the page's current state; null if it cannot be made small enough. */
export async function takeLastPicture(cdp: PageSession): Promise<LastPicture | null> {
  const { data } = await cdp.send('Page.captureScreenshot', { format: 'jpeg', quality: 80 });
  const shot = sharp(Buffer.from(data, 'base64'), { limitInputPixels: false });
  for (const { side, quality } of attempts) {
    const resized = shot.clone().resize({ width: side, height: side, fit: 'inside', withoutEnlargement: true });
    const { data: jpeg, info } = await resized.jpeg({ quality }).toBuffer({ resolveWithObject: true });
    if (jpeg.length <= maxLastPictureBytes) return { jpeg, width: info.width, height: info.height };
  }
  return null;
}
