import sharp from 'sharp';
import { expect, test } from 'vitest';
import { maxLastPictureBytes } from '@webcapture/shared/files/diagnostics-file.ts';
import type { PageSession } from '../../../services/renderer/browser/driver.ts';
import { takeLastPicture } from '../../../services/renderer/diagnostics/trace.ts';

/** Creates a page that looks like noise of the given deviation, which can hardly be compressed. */
async function noisyPage(width: number, height: number, sigma: number): Promise<PageSession> {
  const noise = { type: 'gaussian', mean: 128, sigma } as const;
  const picture = sharp({ create: { width, height, channels: 3, background: 'white', noise } });
  const data = (await picture.jpeg({ quality: 100 }).toBuffer()).toString('base64');
  return { send: () => Promise.resolve({ data }) } as unknown as PageSession;
}

test.each([
  ['a small page', 640, 480, 10, '640x480'],
  ['a large page', 2560, 1280, 1, '1280x640'],
  ['a large page with too many details', 1280, 1280, 30, '800x800'],
])('the last picture of %s fits into the limit', async (_, width, height, sigma, size) => {
  const picture = await takeLastPicture(await noisyPage(width, height, sigma));
  expect(`${picture?.width}x${picture?.height}`).toBe(size);
  expect(picture?.jpeg.length).toBeLessThanOrEqual(maxLastPictureBytes);
});
