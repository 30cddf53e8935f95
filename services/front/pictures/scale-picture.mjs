/*
 * A process of its own, which PictureScaler starts: one picture comes in by stdin, a smaller one goes out by stdout.
 *
 *   scale-picture.mjs png|jpeg|webp WIDTH HEIGHT jpeg|webp
 *
 * JavaScript, since there is no WebAssembly to strip types with where nothing is compiled at run time.
 */
import { setPriority } from 'node:os';
import { buffer } from 'node:stream/consumers';
import sharp from 'sharp';

/** As many as one capture may have: whatever claims more was not made by a renderer of ours. */
const maxPixels = 400_000_000;

/** How the process ends when it could not make sense of the bytes: anything else is not their fault. */
const unreadable = 2;

const loaders = new Map([
  ['png', 'VipsForeignLoadPng'],
  ['jpeg', 'VipsForeignLoadJpeg'],
  ['webp', 'VipsForeignLoadWebp'],
]);

const [from = '', width, height, to] = process.argv.slice(2);

// Requests come first.
setPriority(10);
sharp.cache(false);
// Each thread would hold rows of its own.
sharp.concurrency(1);
// Whatever the bytes look like, no decoder gets them but that of the type that they are stored as.
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({ operation: [loaders.get(from) ?? ''] });

const bytes = await buffer(process.stdin);
try {
  const options = /** @type {const} */ ({ limitInputPixels: maxPixels, sequentialRead: true, failOn: 'error' });
  // Read from the top: rows below what is shown are not decoded.
  const picture = sharp(bytes, options).resize(Number(width), Number(height), { fit: 'cover', position: 'top' });
  const scaled =
    to === 'webp' ? picture.webp({ quality: 80 }) : picture.flatten({ background: '#fff' }).jpeg({ quality: 80 });
  process.stdout.write(await scaled.toBuffer());
} catch (error) {
  process.stderr.write(String(error));
  process.exitCode = unreadable;
}
