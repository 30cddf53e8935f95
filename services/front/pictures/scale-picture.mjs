/*
 * A separate process, started by scalePicture. It reads one picture from stdin and writes a smaller one to stdout.
 *
 *   scale-picture.mjs png|jpeg|webp WIDTH HEIGHT jpeg|webp|raw
 *
 * It is JavaScript because stripping types needs WebAssembly, which is not available with --jitless.
 */
import { setPriority } from 'node:os';
import { buffer } from 'node:stream/consumers';
import sharp from 'sharp';

/** Maximum number of pixels of a capture. A larger picture was not made by a renderer. */
const maxPixels = 400_000_000;

/** Exit code for an unreadable picture. Any other exit code is an error of the process. */
const unreadable = 2;

const loaders = new Map([
  ['png', 'VipsForeignLoadPng'],
  ['jpeg', 'VipsForeignLoadJpeg'],
  ['webp', 'VipsForeignLoadWebp'],
]);

/** @type {Record<string, (picture: import('sharp').Sharp) => import('sharp').Sharp>} */
const encoders = {
  webp: (picture) => picture.webp({ quality: 80 }),
  jpeg: (picture) => picture.flatten({ background: '#fff' }).jpeg({ quality: 80 }),
  raw: (picture) => picture.toColourspace('srgb').ensureAlpha().raw(),
};

const [from = '', width, height, to = ''] = process.argv.slice(2);

// Lower the priority, because requests are more urgent.
setPriority(10);
sharp.cache(false);
// Each thread would need its own rows in memory.
sharp.concurrency(1);
// Allow only the decoder of the stored type, so that the content cannot select another one.
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({ operation: [loaders.get(from) ?? ''] });

const bytes = await buffer(process.stdin);
try {
  const options = /** @type {const} */ ({ limitInputPixels: maxPixels, sequentialRead: true, failOn: 'error' });
  // Reads are sequential, so that rows below the visible part are not decoded.
  const picture = sharp(bytes, options).resize(Number(width), Number(height), { fit: 'cover', position: 'top' });
  process.stdout.write(await encoders[to](picture).toBuffer());
} catch (error) {
  process.stderr.write(String(error));
  process.exitCode = unreadable;
}
