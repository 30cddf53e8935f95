import { localDeadline } from '../runtime/deadline.ts';
import { toServiceError } from '../runtime/errors.ts';
import { withSuffix } from './file-name.ts';
import { type FileUploader, type NewFile, StoreUnavailableError, type Upload } from './file-store.ts';
import type { ObjectBucket } from './object-bucket.ts';
import { ObjectError } from './object-error.ts';
import { hashesOf, uploadOf } from './upload.ts';

const writeTimeoutMs = 30_000;

/** Maximum number of names to try. If an object with a random suffix exists, the answer to its upload was lost. */
const maxNames = 5;

/** Uploads to a bucket. Needs only the permission to create objects. */
export class BucketUploader implements FileUploader {
  readonly bucket: ObjectBucket;
  readonly #now: () => number;

  /** @param now Unix milliseconds */
  constructor(bucket: ObjectBucket, now: () => number = Date.now) {
    this.bucket = bucket;
    this.#now = now;
  }

  upload(file: NewFile): { readonly sent: Promise<Upload>; readonly stored: Promise<Upload> } {
    const stored = this.#upload(file);
    stored.catch(() => undefined);
    return { sent: stored, stored };
  }

  async #upload(file: NewFile): Promise<Upload> {
    try {
      const now = this.#now();
      const limits = { deadline: localDeadline(file.deadline ?? now + writeTimeoutMs, now) };
      const hashes = hashesOf(file.bytes);
      let { object } = file;
      for (let count = 1; count <= maxNames; count++) {
        const generation = await this.bucket.create({ file, object, hashes, now: this.#now() }, limits);
        if (generation !== null) return uploadOf(file, `${generation}/${object}`, hashes.etag);
        // The object exists. An attempt of this call whose answer was lost may have created it.
        object = withSuffix(file.object);
      }
      throw new Error('all names for the object are taken');
    } catch (error) {
      // Other errors need the operator, because a permission or the bucket is missing.
      if (error instanceof ObjectError && error.transient) throw new StoreUnavailableError(undefined, { cause: error });
      throw toServiceError(error, 'STORAGE_FAILED');
    }
  }
}
