import { ServiceError } from '../errors/service-error.ts';
import { contentTag } from './content-tag.ts';
import { withSuffix } from './file-name.ts';
import type { FileUploader, NewFile, Upload } from './file-store.ts';
import type { GcsClient } from './gcs/gcs-client.ts';
import { describeObject, md5Of } from './gcs/object-file.ts';
import { upload as uploadObject } from './gcs/upload.ts';

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
      let object = file.object;
      for (let count = 1; count <= maxNames; count++) {
        const upload = await this.#create(file, object);
        if (upload !== null) return upload;
        object = withSuffix(file.object);
      }
      throw new Error('all names for the object are taken');
    } catch (error) {
      throw new ServiceError('STORAGE_FAILED', undefined, { cause: error });
    }
  }

  /** Null when there is an object of that name, which may come of this very call, its answer lost. */
  async #create(file: NewFile, object: string): Promise<Upload | null> {
    const { bytes, contentType, width, height, expiresAt, cacheSeconds, deadline } = file;
    const etag = contentTag(bytes);
    const now = this.#now();
    const [name, md5Hash] = [this.#prefix + object, md5Of(bytes)];
    const description = { name, md5Hash, ...describeObject({ ...file, name: object, etag }, now) };
    const limits = { deadline: Date.now() + (deadline === undefined ? writeTimeoutMs : deadline - now) };
    const created = await uploadObject(this.client, { name, bytes, contentType, description, expected: '0' }, limits);
    if (created === null) return null;
    return {
      object: `${created.generation}/${object}`,
      contentType,
      size: bytes.length,
      etag,
      width,
      height,
      expiresAt,
      ...(cacheSeconds === undefined ? {} : { cacheSeconds }),
    };
  }
}
