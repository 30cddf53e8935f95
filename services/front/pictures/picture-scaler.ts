import { fileURLToPath } from 'node:url';
import type { FileStore, StoredFile } from '@webcapture/shared/files/file-store.ts';
import { keepFailure, runConfined } from '@webcapture/shared/runtime/confined-process.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { RetryLaterError } from '../admission.ts';

/** Target size and type of a picture. Sizes are in pixels. */
export interface ScaledPicture {
  readonly width: number;
  readonly height: number;
  /** `raw`: RGBA, four bytes a pixel, row by row. */
  readonly type: 'jpeg' | 'webp' | 'raw';
}

/** Timeout of one scaling. It begins when the scaling gets its slot, and includes the read of the file. */
const timeoutMs = 20_000;

/** Limit of processor time. It is far more than any picture of a renderer needs. */
const maxCpuSeconds = 10;

/** Limit of the data segment of the process, including 50 MiB of Node: the tallest PNG takes 110 MiB, a WebP of 63 megapixels 300 MiB. */
export const maxDataKiB = 384 * 1024;

/** Limit of the output: 4 megapixels in RGBA. A file of 1568 × 1568 pixels takes far less. */
const maxScaledBytes = 16 * 1024 * 1024;

/** Exit code of scale-picture.mjs for an unreadable picture. */
const unreadableCode = 2;

const scaler = {
  path: fileURLToPath(new URL('./scale-picture.mjs', import.meta.url)),
  nodeOptions: ['--jitless'],
  maxDataKiB,
  maxCpuSeconds,
  maxOutputBytes: maxScaledBytes,
} as const;

/** The bytes are not a picture, or decoding them exceeds the limits of time or memory. */
export class UnreadablePictureError extends Error {}

/**
 * Scales one picture in a separate process. A tall picture is cut off below. A page may have compromised its renderer, so the bytes are
 * hostile, and the decoder is native code. In a thread, a crash or a decompression bomb would terminate the front with all its requests.
 * The process ({@link runConfined}) cannot compile code, and handles only this picture.
 *
 * @throws UnreadablePictureError; the reason of `signal` if it aborts; ServiceError QUEUE_FULL after a timeout, STORAGE_FAILED if the file
 * cannot be read, INTERNAL_ERROR if the process cannot work
 */
export async function scalePicture(
  file: StoredFile,
  { width, height, type }: ScaledPicture,
  { store, now, signal }: { readonly store: FileStore; readonly now: () => number; readonly signal: AbortSignal },
): Promise<Buffer> {
  signal.throwIfAborted();
  const timeout = AbortSignal.timeout(timeoutMs);
  const end = AbortSignal.any([signal, timeout]);
  const source = keepFailure(store.read(file, undefined, { deadline: now() + timeoutMs, signal: end }));
  const from = file.contentType.replace('image/', '');
  const process = { ...scaler, args: [from, String(width), String(height), type] };
  const { code, output, reason, failure } = await runConfined(process, source.bytes, end);
  // If all clients have disconnected, the exit of the process says nothing about the picture.
  signal.throwIfAborted();
  if (source.failure() !== undefined) throw source.failure();
  if (timeout.aborted)
    throw new RetryLaterError(
      'QUEUE_FULL',
      'The picture could not be scaled in time. Send the request again later.',
      5,
      { causedBy: 'service' },
    );
  if (failure !== undefined) throw new ServiceError('INTERNAL_ERROR', undefined, { cause: failure });
  // A null code means a signal: the process crashed or reached a limit.
  if (code === unreadableCode || code === null) throw new UnreadablePictureError(reason);
  if (code !== 0) throw new ServiceError('INTERNAL_ERROR', undefined, { cause: new Error(reason) });
  return output;
}
