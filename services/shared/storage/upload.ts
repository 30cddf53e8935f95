import { createHash } from 'node:crypto';
import type { NewFile, Upload } from './file-store.ts';

/** The strong validator of these bytes, the same in every store. */
export function contentTag(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex').slice(0, 32);
}

export interface ContentHashes {
  /** See {@link contentTag}. */
  readonly etag: string;
  /** In base64, as a bucket is told it. */
  readonly md5: string;
}

export const hashesOf = (bytes: Uint8Array): ContentHashes => ({
  etag: contentTag(bytes),
  md5: createHash('md5').update(bytes).digest('base64'),
});

/** What an uploader tells of a file that lies under `object`. */
export function uploadOf(file: NewFile, object: string, etag: string): Upload {
  const { bytes, contentType, width, height, expiresAt, cacheSeconds } = file;
  return {
    object,
    contentType,
    size: bytes.length,
    etag,
    width,
    height,
    expiresAt,
    ...(cacheSeconds === undefined ? {} : { cacheSeconds }),
  };
}
