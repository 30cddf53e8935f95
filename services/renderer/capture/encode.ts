import type { RenderOptions } from '@webcapture/shared/contract/render-options.ts';
import { ServiceError } from '@webcapture/shared/errors/service-error.ts';
import sharp, { type Sharp } from 'sharp';
import type { ImageFormat, Shot } from './shoot.ts';

type TiledShot = Extract<Shot, { kind: 'tiles' }>;

export interface EncodedImage {
  readonly bytes: Buffer;
  readonly width: number;
  readonly height: number;
}

/** Pictures of ours may be larger than what sharp takes from strangers. */
export const trusted = { limitInputPixels: false, unlimited: true } as const;

/**
 * Makes the file: puts tiles together where there are some, and holds the file against what it should be.
 *
 * @throws ServiceError CAPTURE_FAILED when the file is empty or not of the size that was asked for
 */
export async function encode(shot: Shot, options: RenderOptions): Promise<EncodedImage> {
  const bytes = shot.kind === 'file' ? shot.bytes : await join(shot, options);
  if (bytes.length === 0) throw failed('The browser made an empty file of the page.');
  const { width, height } = await sharp(bytes, trusted).metadata();
  // Rounding of odd scales may cost a pixel; what the file says is true.
  if (Math.abs(width - shot.width) > 1 || Math.abs(height - shot.height) > 1) {
    throw failed(`The browser made a picture of ${width} × ${height} px, not of ${shot.width} × ${shot.height} px.`);
  }
  return { bytes, width, height };
}

async function join({ tiles }: TiledShot, options: RenderOptions): Promise<Buffer> {
  const sizes = await Promise.all(tiles.map((tile) => sharp(tile, trusted).metadata()));
  const width = Math.min(...sizes.map((size) => size.width));
  const height = sizes.reduce((sum, size) => sum + size.height, 0);
  // Joining gives each tile the room of the tallest, so that what is below the last one is cut off again.
  const joined = sharp([...tiles], { ...trusted, join: { across: 1 } })
    .extract({ left: 0, top: 0, width, height })
    .removeAlpha();
  return encodeAs(joined, options.format as ImageFormat, options.quality).toBuffer();
}

function encodeAs(image: Sharp, format: ImageFormat, quality: number): Sharp {
  switch (format) {
    case 'png':
      // Level 3 is about as large as the default and takes half the time.
      return image.png({ compressionLevel: 3 });
    case 'jpeg':
      return image.jpeg({ quality });
    case 'webp':
      return image.webp({ quality, effort: 2 });
  }
}

function failed(message: string): ServiceError {
  return new ServiceError('CAPTURE_FAILED', `${message} Send the request again.`);
}
