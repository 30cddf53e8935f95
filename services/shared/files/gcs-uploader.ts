import type { Bucket, PreconditionOptions } from '@google-cloud/storage';
import { localDeadline } from '../runtime/deadline.ts';
import { toServiceError } from '../runtime/errors.ts';
import { withSuffix } from './file-name.ts';
import { type FileUploader, type NewFile, StoreUnavailableError, type Upload } from './file-store.ts';
import type { GcsClient, GcsLimits } from './gcs-client.ts';
import { GcsError, isOverwriteRefused } from './gcs-error.ts';
import { describeObject, type ObjectResource, resourceIn } from './gcs-objects.ts';
import { type ContentHashes, hashesOf, uploadOf } from './upload.ts';

export interface ObjectCreation {
  readonly file: NewFile;
  /** Name of the object. */
  readonly object: string;
  /** Hashes of the content. */
  readonly hashes: ContentHashes;
  /** The generation that the object must have now; `0`: it must not exist. */
  readonly expected: string;
  /** Unix milliseconds. */
  readonly now: number;
}

/** Maximum number of 400 responses: one may be caused by damaged bytes, but an invalid request stays invalid. */
const maxRefusals = 2;

/** Statuses of a resumable upload that has expired, or that the bucket has lost. */
const sessionGone = [404, 410];

/**
 * Uploads a file in place of the expected generation, with retries within the limits; a large upload continues after a
 * broken connection. The bucket refuses bytes that do not have the file's MD5. Returns null when another generation
 * exists, possibly from an attempt of this call with a lost answer. Throws a GcsError; the object is then unchanged, or
 * complete.
 */
export async function createObject(
  client: GcsClient,
  { file, object, hashes, expected, now }: ObjectCreation,
  limits: GcsLimits,
): Promise<ObjectResource | null> {
  const { bytes } = file;
  const isLarge = bytes.length > client.maxRequestBytes;
  const what: Sending = {
    name: client.prefix + object,
    bytes,
    metadata: { md5Hash: hashes.md5, ...describeObject({ ...file, name: object, etag: hashes.etag }, now) },
    preconditionOpts: { ifGenerationMatch: expected },
  };
  /** The resumable upload, and whether the bucket may have received bytes of it. */
  let session: Session | null = null;
  let refusals = 0;
  return client.retry('create', limits, async (signal) => {
    const sending = client.attempt(
      'create',
      signal,
      async (bucket) => {
        if (!isLarge) return sendAtOnce(bucket, what);
        session ??= await openSession(bucket, what);
        return sendTo(session, bucket, what);
      },
      bytes.length,
    );
    try {
      return resourceIn('create', await sending);
    } catch (error) {
      if (!(error instanceof GcsError)) throw error;
      if (error.status === 412 || isOverwriteRefused(error)) return null;
      if (session !== null && sessionGone.includes(error.status ?? 0)) {
        session = null;
        const detail = 'the bucket has forgotten the upload';
        throw new GcsError('create', { failure: 'connection', detail, transient: true });
      }
      if (error.status === 400) {
        // The session has failed, so the next attempt sends all bytes again.
        session = null;
        if (++refusals <= maxRefusals) throw asPassing(error);
      }
      throw error;
    }
  });
}

interface Sending {
  /** Including the prefix. */
  readonly name: string;
  readonly bytes: Buffer;
  readonly metadata: { readonly contentType: string; readonly md5Hash: string };
  readonly preconditionOpts: PreconditionOptions;
}

async function sendAtOnce(bucket: Bucket, { name, bytes, ...options }: Sending): Promise<unknown> {
  const target = bucket.file(name);
  await target.save(bytes, { resumable: false, validation: false, ...options });
  return target.metadata;
}

/** A resumable upload. The object becomes visible with its last byte, and an unfinished upload expires. */
interface Session {
  readonly uri: string;
  isBegun: boolean;
}

async function openSession(bucket: Bucket, { name, bytes, metadata, preconditionOpts }: Sending): Promise<Session> {
  const described = { ...metadata, contentLength: bytes.length };
  const [uri] = await bucket.file(name).createResumableUpload({ metadata: described, preconditionOpts });
  // The library treats any 2xx response as a session.
  if (typeof uri !== 'string') throw new Error('the bucket named no address to upload to');
  return { uri, isBegun: false };
}

/** Sends the bytes that the bucket does not have. */
async function sendTo(session: Session, bucket: Bucket, { name, bytes, metadata }: Sending): Promise<unknown> {
  const { contentType } = metadata;
  const target = bucket.file(name);
  // The library sends the type when it opens the session; emulators ignore it there.
  target.interceptors.push({
    request: (options) => ({ ...options, headers: { 'content-type': contentType } }) as BucketRequest,
  });
  const options = { uri: session.uri, validation: false, metadata: { contentType, contentLength: bytes.length } };
  // Without an offset, the library asks the bucket for the received bytes.
  const begin = session.isBegun ? {} : { offset: 0 };
  session.isBegun = true;
  await target.save(bytes, { ...options, ...begin });
  return target.metadata;
}

type BucketRequest = Parameters<Bucket['request']>[0];

function asPassing({ operation, failure, status = 400, reason, detail }: GcsError): GcsError {
  return new GcsError(operation, { failure, status, reason, detail, transient: true });
}

const writeTimeoutMs = 30_000;

/** Maximum number of names. An object with a random suffix exists only if the answer to its upload was lost. */
const maxNames = 5;

/** Uploads to a bucket with only the permission to create objects (`roles/storage.objectCreator`). */
export class GcsUploader implements FileUploader {
  readonly client: GcsClient;
  readonly #now: () => number;

  /** @param now Unix milliseconds */
  constructor(client: GcsClient, now: () => number = Date.now) {
    this.client = client;
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
        const creation = { file, object, hashes, expected: '0', now: this.#now() };
        const created = await createObject(this.client, creation, limits);
        if (created !== null) return uploadOf(file, `${created.generation}/${object}`, hashes.etag);
        // The object exists, possibly because of an attempt of this call whose answer was lost.
        object = withSuffix(file.object);
      }
      throw new Error('all names for the object are taken');
    } catch (error) {
      // Other errors need the operator: a missing permission or bucket.
      if (error instanceof GcsError && error.transient) throw new StoreUnavailableError(undefined, { cause: error });
      throw toServiceError(error, 'STORAGE_FAILED');
    }
  }
}
