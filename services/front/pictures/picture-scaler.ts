import { fileURLToPath } from 'node:url';
import type { FileStore, StoredFile } from '@webcapture/shared/files/file-store.ts';
import { runConfined } from '@webcapture/shared/runtime/confined-process.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { RetryLaterError } from '../admission.ts';

/** What a picture is made into. Sizes in pixels. */
export interface ScaledPicture {
  readonly width: number;
  readonly height: number;
  readonly type: 'jpeg' | 'webp';
}

/** From the slot to the end, the reading of the file included. */
const timeoutMs = 20_000;

/** Seconds of processor time that no picture of ours comes near. */
const maxCpuSeconds = 10;

/** Data of the process, Node's 50 MiB included: the tallest PNG takes 110 MiB, a WebP of 63 megapixels 300. */
export const maxDataKiB = 384 * 1024;

/** Far more than 1568 pixels in a row take on either side. */
const maxScaledBytes = 16 * 1024 * 1024;

/** Exit code of a process that could not make sense of the picture, as scale-picture.mjs has it. */
const unreadableCode = 2;

const scaler = {
  path: fileURLToPath(new URL('./scale-picture.mjs', import.meta.url)),
  nodeOptions: ['--jitless'],
  maxDataKiB,
  maxCpuSeconds,
  maxOutputBytes: maxScaledBytes,
} as const;

/** The bytes are no picture, or one that takes more time or memory than any of ours. */
export class UnreadablePictureError extends Error {}

/**
 * Scales one picture, from its top, in a process of its own that ends with it.
 *
 * A renderer may be owned by the page that it shows, so these bytes are hostile and the decoder is native code: in a
 * thread, a crash or a decompression bomb of it would take the front along, with every request. The process ({@link runConfined}) has
 * nothing that compiles code either, and never sees a picture of another capture.
 *
 * @throws UnreadablePictureError; the reason of `signal` when that aborts; ServiceError QUEUE_FULL when time is up, STORAGE_FAILED when the file cannot be read,
 *   INTERNAL_ERROR when the process cannot work
 */
export async function scalePicture(
  file: StoredFile,
  { width, height, type }: ScaledPicture,
  {
    store,
    now,
    signal,
  }: { readonly store: Pick<FileStore, 'read'>; readonly now: () => number; readonly signal: AbortSignal },
): Promise<Buffer> {
  signal.throwIfAborted();
  const timeout = AbortSignal.timeout(timeoutMs);
  let readFailure: unknown;
  async function* bytesOf() {
    try {
      yield* store.read(file, undefined, { deadline: now() + timeoutMs, signal: AbortSignal.any([signal, timeout]) });
    } catch (error) {
      readFailure = error;
      throw error;
    }
  }
  const from = file.contentType.replace('image/', '');
  const process = { ...scaler, args: [from, String(width), String(height), type] };
  const { code, output, reason, failure } = await runConfined(process, bytesOf(), AbortSignal.any([signal, timeout]));
  // Killed for want of interest: nothing is known of the picture.
  signal.throwIfAborted();
  if (readFailure !== undefined) throw readFailure;
  if (timeout.aborted)
    throw new RetryLaterError(
      'QUEUE_FULL',
      'The picture could not be scaled in time. Send the request again later.',
      5,
      { causedBy: 'service' },
    );
  if (failure !== undefined) throw new ServiceError('INTERNAL_ERROR', undefined, { cause: failure });
  // A signal: it has crashed, or reached a limit.
  if (code === unreadableCode || code === null) throw new UnreadablePictureError(reason);
  if (code !== 0) throw new ServiceError('INTERNAL_ERROR', undefined, { cause: new Error(reason) });
  return output;
}
