import { ServiceError } from '../errors/service-error.ts';
import { localDeadline } from '../lifecycle/deadline.ts';
import { withSuffix } from './file-name.ts';
import type { FileUploader, NewFile, Upload } from './file-store.ts';
import { createObject } from './gcs/create-object.ts';
import type { GcsClient } from './gcs/gcs-client.ts';
import { hashesOf, uploadOf } from './upload.ts';

const writeTimeoutMs = 30_000;

/** An object with a random suffix is there already only when the answer to its upload was lost. */
const maxNames = 5;

/** Uploads into a bucket with the right to create objects (`roles/storage.objectCreator`), and no other one. */
export class GcsUploader implements FileUploader {
  readonly client: GcsClient;
  readonly #prefix: string;
  readonly #now: () => number;

  /** @param prefix of the names of all files: `captures/`, or empty */
  constructor(client: GcsClient, prefix: string, now: () => number = Date.now) {
    this.client = client;
    this.#prefix = prefix;
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
      const [prefix, hashes] = [this.#prefix, hashesOf(file.bytes)];
      let { object } = file;
      for (let count = 1; count <= maxNames; count++) {
        const creation = { file, object, prefix, hashes, expected: '0', now: this.#now() };
        const created = await createObject(this.client, creation, limits);
        if (created !== null) return uploadOf(file, `${created.generation}/${object}`, hashes.etag);
        // There is an object of that name, which may come of this very call, its answer lost.
        object = withSuffix(file.object);
      }
      throw new Error('all names for the object are taken');
    } catch (error) {
      throw new ServiceError('STORAGE_FAILED', undefined, { cause: error });
    }
  }
}
