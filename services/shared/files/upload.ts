import { createHash } from 'node:crypto';
import type { StoredType } from '../api/formats.ts';
import { ServiceError } from '../runtime/errors.ts';
import type { ExpectedUpload, NewFile, Upload } from './file-store.ts';

/** Returns the strong validator of these bytes, which is the same in every kind of store. */
export function contentTag(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex').slice(0, 32);
}

export interface ContentHashes {
  /** See {@link contentTag}. */
  readonly etag: string;
  /** In base64, as the bucket expects it. */
  readonly md5: string;
}

export const hashesOf = (bytes: Uint8Array): ContentHashes => ({
  etag: contentTag(bytes),
  md5: createHash('md5').update(bytes).digest('base64'),
});

/** Returns an uploader's description of a file stored under `object`. */
export function uploadOf(file: NewFile, object: string, etag: string): Upload {
  const { bytes, contentType, width, height, expiresAt, cacheSeconds } = file;
  const upload = { object, contentType, size: bytes.length, etag, width, height, expiresAt };
  return cacheSeconds === undefined ? upload : { ...upload, cacheSeconds };
}

/** Reasons why an upload is rejected. `foreign` means that it is not the requested object, or has another description. */
export const uploadRejections = ['missing', 'wrong_type', 'wrong_size', 'foreign', 'expired'] as const;
export type UploadRejection = (typeof uploadRejections)[number];

/** Thrown if an upload does not match the request. It then cannot become the file of a capture. */
export class UploadRejectedError extends ServiceError<'STORAGE_FAILED'> {
  readonly reason: UploadRejection;

  /** @param detail text for the log */
  constructor(reason: UploadRejection, detail: string) {
    super('STORAGE_FAILED', undefined, { cause: new Error(`the upload was rejected: ${detail}`) });
    this.name = 'UploadRejectedError';
    this.reason = reason;
  }
}

/** Number of bytes that identify a file type. */
export const signatureBytes = 32;

/**
 * Maximum difference between an upload's expiry and the requested one. It allows for wrong clocks of renderers and for the wait in the
 * queue.
 */
export const expiryToleranceMs = 10 * 60_000;

const defaultMaxBytes = 512 * 1024 * 1024;
const maxPixelsOnSide = 1_000_000;

const isCount = (value: unknown, max: number) =>
  Number.isSafeInteger(value) && Number(value) > 0 && Number(value) <= max;

/** Verifies the description of an upload against the request. Throws an {@link UploadRejectedError}. */
export function verifyClaim(
  upload: Upload,
  { contentType, expiresAt, maxBytes = defaultMaxBytes }: ExpectedUpload,
): void {
  if (upload.contentType !== contentType) {
    throw new UploadRejectedError('wrong_type', `it is said to be ${String(upload.contentType)}, not ${contentType}`);
  }
  if (!isCount(upload.size, maxBytes))
    throw new UploadRejectedError('wrong_size', `it is said to have ${upload.size} bytes`);
  if (!isCount(upload.width, maxPixelsOnSide) || !isCount(upload.height, maxPixelsOnSide)) {
    throw new UploadRejectedError('wrong_size', `it is said to be of ${upload.width} × ${upload.height} px`);
  }
  // Values of other types, such as an array of strings, would be written into the metadata of the file.
  if (typeof upload.etag !== 'string' || typeof upload.object !== 'string') {
    throw new UploadRejectedError('foreign', 'its description is of another form');
  }
  verifyExpiry(upload.expiresAt, expiresAt);
}

/** Throws unless the expiry of a file is near the requested one. Times in Unix milliseconds. */
export function verifyExpiry(end: number, expiresAt: number): void {
  if (!(Math.abs(end - expiresAt) <= expiryToleranceMs)) {
    throw new UploadRejectedError('expired', `it ends at ${end}, not about ${expiresAt}`);
  }
}

const signatures: Readonly<Record<StoredType, (head: Buffer) => boolean>> = {
  'image/png': (head) =>
    head.subarray(0, 8).toString('latin1') === '\x89PNG\r\n\x1a\n' && head.toString('latin1', 12, 16) === 'IHDR',
  'image/jpeg': (head) => head[0] === 0xff && head[1] === 0xd8 && head[2] === 0xff,
  'image/webp': (head) => head.toString('latin1', 0, 4) === 'RIFF' && head.toString('latin1', 8, 12) === 'WEBP',
  // The file is an object.
  'application/json': (head) => head[0] === 0x7b,
  'application/pdf': (head) => head.toString('latin1', 0, 5) === '%PDF-',
  'application/gzip': (head) => head[0] === 0x1f && head[1] === 0x8b && head[2] === 8,
};

/** Whether the first bytes of a file are those of its type. */
export const hasSignature = (contentType: StoredType, head: Buffer): boolean => signatures[contentType](head);

/** Verifies the first {@link signatureBytes} of an upload against its description. Throws an {@link UploadRejectedError}. */
export function verifySignature(
  { contentType, width, height }: Pick<Upload, 'contentType' | 'width' | 'height'>,
  head: Buffer,
): void {
  if (!hasSignature(contentType, head))
    throw new UploadRejectedError('wrong_type', `it does not begin like ${contentType}`);
  if (contentType !== 'image/png' || head.length < 24) return;
  const [shownWidth, shownHeight] = [head.readUInt32BE(16), head.readUInt32BE(20)];
  if (shownWidth !== width || shownHeight !== height) {
    throw new UploadRejectedError(
      'wrong_size',
      `it shows ${shownWidth} × ${shownHeight} px, not ${width} × ${height} px`,
    );
  }
}
