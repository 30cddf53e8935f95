import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import type { Bucket } from '@google-cloud/storage';
import { untilAborted } from '../runtime/deadline.ts';
import { readStream, removeObject } from './bounded-storage.ts';
import { cacheControl, contentDisposition, uuidOfFileName } from './file-name.ts';
import type { ExpectedUpload, StoredFile } from './file-store.ts';
import type { GcsClient, GcsLimits } from './gcs-client.ts';
import { GcsError, type GcsOperation, isObjectMissing, mayBeMissing } from './gcs-error.ts';
import { UploadRejectedError, verifyExpiry } from './upload.ts';

/**
 * Returns the result of an attempt on an object; null when the object does not exist. Without the right to list, a
 * bucket answers 403 instead of 404 to hide which names exist. A 403 counts as missing while the bucket grants the
 * refused right.
 */
export async function orMissing<T>(client: GcsClient, attempt: Promise<T>, signal: AbortSignal): Promise<T | null> {
  try {
    return await attempt;
  } catch (error) {
    if (!(error instanceof GcsError)) throw error;
    if (isObjectMissing(error)) return null;
    const right = `storage.objects.${error.operation}`;
    if (mayBeMissing(error) && (await untilAborted(client.rights.has(right), signal))) return null;
    throw error;
  }
}

/** Returns the metadata of an object, or null if it does not exist. Throws a GcsError. */
export function getObject(client: GcsClient, name: string, limits: GcsLimits): Promise<ObjectResource | null> {
  return client.retry('get', limits, async (signal) => {
    const asking = client.attempt('get', signal, (bucket) => bucket.file(client.prefix + name).getMetadata());
    const answer = await orMissing(client, asking, signal);
    return answer === null ? null : resourceIn('get', answer[0]);
  });
}

/** Returns the first bytes of an object, at most `length`, or null if it does not exist. Throws a GcsError. */
export function readHead(
  client: GcsClient,
  { name, generation }: { readonly name: string; readonly generation: string },
  length: number,
  limits: GcsLimits,
): Promise<Buffer | null> {
  const range = { start: 0, end: length - 1 };
  return client.retry('get', limits, async (signal) => {
    const asking = client.attempt('get', signal, (bucket) =>
      buffer(readStream(bucket.file(client.prefix + name, { generation }), range)),
    );
    try {
      return await orMissing(client, asking, signal);
    } catch (error) {
      // An empty object has no satisfiable range.
      if (error instanceof GcsError && error.status === 416) return Buffer.alloc(0);
      throw error;
    }
  });
}

/** Deletes an object, optionally only one generation. A missing object is not an error. Throws a GcsError. */
export function deleteObject(
  client: GcsClient,
  { name, ...rest }: { readonly name: string; readonly generation?: string },
  limits: GcsLimits,
): Promise<void> {
  const object = { ...rest, name: client.prefix + name };
  return client.retry('delete', limits, async (signal) => {
    const deleting = client.attempt('delete', signal, (bucket, authorization) =>
      removeObject(bucket, authorization, object),
    );
    try {
      await orMissing(client, deleting, signal);
    } catch (error) {
      if (!(error instanceof GcsError) || error.status !== 412) throw error;
    }
  });
}

type BucketRequest = Parameters<Bucket['request']>[0];

export interface ObjectCopy {
  /** Name of the source, and the generation that it must have. */
  readonly source: string;
  readonly sourceGeneration: string;
  readonly destination: string;
  /** The generation that the destination must have; `0`: it must not exist. */
  readonly expected: string;
  /** Metadata of the copy. It replaces all metadata of the source. */
  readonly description: object;
}

/**
 * Copies an object within the bucket, without a transfer; readers get either the old object or the new one. Returns the
 * copy, `conflict` if the destination or the source has another generation, possibly because of an attempt of this call
 * whose answer was lost, or `missing` if there is no source. Throws a GcsError.
 */
export function copyObject(
  client: GcsClient,
  { source, sourceGeneration, destination, expected, description }: ObjectCopy,
  limits: GcsLimits,
): Promise<ObjectResource | 'conflict' | 'missing'> {
  const conditions = { ifGenerationMatch: expected, ifSourceGenerationMatch: sourceGeneration };
  return client.retry('create', limits, async (signal) => {
    try {
      const [, answer] = await client.attempt('create', signal, ({ storage, name }) => {
        const bucket = storage.bucket(name);
        // Copying a large object between locations or storage classes takes several calls; after the first one, the
        // library omits conditions and metadata.
        bucket.interceptors.push({
          request: (options) =>
            ({ ...options, qs: { ...options.qs, ...conditions }, json: description }) as BucketRequest,
        });
        const from = bucket.file(client.prefix + source, { generation: sourceGeneration });
        return from.copy(bucket.file(client.prefix + destination));
      });
      return resourceIn('create', (answer as { readonly resource?: unknown }).resource);
    } catch (error) {
      if (!(error instanceof GcsError)) throw error;
      if (error.status === 412) return 'conflict';
      // The bucket was checked at the start of the service, so the source is missing.
      if (error.status === 404) return 'missing';
      throw error;
    }
  });
}

/** A file in a bucket. */
export interface GcsFile extends StoredFile {
  /** Generation of the object. It changes when the object is replaced. */
  readonly generation: string;
  /** MD5 of the content in base64; null if the bucket does not provide it. */
  readonly md5: string | null;
  /** The upload that was copied to this place; null if the file was created in place. */
  readonly upload: string | null;
}

/** The fields of an object's metadata that are used here. */
export interface ObjectResource {
  readonly name: string;
  readonly generation: string;
  readonly size: string;
  readonly contentType?: string;
  readonly contentEncoding?: string;
  readonly contentDisposition?: string;
  readonly cacheControl?: string;
  readonly customTime?: string;
  readonly md5Hash?: string;
  readonly timeCreated: string;
  readonly metadata?: Readonly<Record<string, string>>;
}

/** Returns the resource in a response. Throws a GcsError for anything else, such as a page of a proxy or an incomplete response. */
export function resourceIn(operation: GcsOperation, answer: unknown): ObjectResource {
  const { name, generation } = (answer ?? {}) as Partial<ObjectResource>;
  if (typeof name === 'string' && typeof generation === 'string') return answer as ObjectResource;
  throw new GcsError(operation, { failure: 'connection', detail: 'the answer is no object', transient: true });
}

/** Metadata for an object. `name` contains the uuid of the capture. */
export type Described = Omit<StoredFile, 'storedAt' | 'size'> & { readonly account: string };

/**
 * Returns the metadata of a file's object.
 *
 * Its Cache-Control counts from `now` and is the same for every download: a copy that a cache takes late may outlive the file, by its
 * lifetime at most. `customTime` is the end of the file's life, for a lifecycle rule that removes leftovers.
 *
 * @param upload the upload that this write puts in place
 */
export function describeObject(file: Described, now: number, upload?: string) {
  const { name, account, contentType, etag, width, height, expiresAt, cacheSeconds } = file;
  return {
    contentType,
    contentDisposition: contentDisposition(file),
    cacheControl: cacheControl(file, now),
    customTime: new Date(expiresAt).toISOString(),
    metadata: {
      uuid: uuidOfFileName(name),
      account: accountTag(account),
      etag,
      width: String(width),
      height: String(height),
      'expires-at': String(expiresAt),
      ...(cacheSeconds === undefined ? {} : { 'cache-seconds': String(cacheSeconds) }),
      ...(upload === undefined ? {} : { upload }),
    },
  };
}

/** The account of a file in its metadata, as a hash. */
const accountTag = (account: string) => createHash('sha256').update(account).digest('hex').slice(0, 32);

/** Returns the file of an object; null when it is not one of this service. */
export function fileOfObject({ prefix }: GcsClient, object: ObjectResource): GcsFile | null {
  const { metadata = {}, md5Hash, contentType } = object;
  const { etag, width, height, 'expires-at': expiresAt } = metadata;
  if (etag === undefined || expiresAt === undefined) return null;
  const cacheSeconds = metadata['cache-seconds'];
  return {
    name: object.name.slice(prefix.length),
    contentType: contentType as StoredFile['contentType'],
    size: Number(object.size),
    etag,
    storedAt: Date.parse(object.timeCreated),
    expiresAt: Number(expiresAt),
    width: Number(width),
    height: Number(height),
    cacheSeconds: cacheSeconds === undefined ? undefined : Number(cacheSeconds),
    generation: object.generation,
    md5: md5Hash ?? null,
    upload: metadata['upload'] ?? null,
  };
}

/** The clock of a renderer may be off, and its upload may have taken a while. */
const cacheToleranceSeconds = 600;

/**
 * Compares an object with the request and with its uploader's description. A renderer may describe its objects as it
 * likes, and a page of a compromised renderer could be served under the CDN's address; so the description must be
 * exactly the one of this service. Throws an {@link UploadRejectedError}.
 */
export function verifyObject(
  object: ObjectResource,
  upload: Omit<StoredFile, 'name' | 'storedAt'>,
  expected: ExpectedUpload,
): void {
  const { metadata = {}, contentType, contentEncoding } = object;
  const { name, account, cacheSeconds } = expected;
  if (contentType !== expected.contentType || (contentEncoding ?? '') !== '') {
    throw new UploadRejectedError('wrong_type', `the object is described as ${contentType} ${contentEncoding ?? ''}`);
  }
  if (Number(object.size) !== upload.size) {
    throw new UploadRejectedError('wrong_size', `the object has ${object.size} bytes, not ${upload.size}`);
  }
  const ours = describeObject({ ...upload, contentType, name, account, cacheSeconds }, Date.parse(object.timeCreated));
  const described: Readonly<Record<string, string | undefined>> = {
    'cache-seconds': undefined,
    upload: undefined,
    ...ours.metadata,
  };
  for (const [field, value] of Object.entries(described)) {
    if (metadata[field] === value) continue;
    const reason = field === 'width' || field === 'height' ? 'wrong_size' : 'foreign';
    throw new UploadRejectedError(reason, `the object says another ${field}`);
  }
  if (object.contentDisposition !== ours.contentDisposition) {
    throw new UploadRejectedError('foreign', 'the object says another Content-Disposition');
  }
  if (!isOurCacheControl(object, upload))
    throw new UploadRejectedError('foreign', 'the object says another Cache-Control');
  const end = Date.parse(object.customTime ?? '');
  if (end !== upload.expiresAt) throw new UploadRejectedError('expired', 'the object says another end of its life');
  verifyExpiry(end, expected.expiresAt);
}

/** Whether the Cache-Control is that of this service, except for the remaining time when the renderer wrote it. */
function isOurCacheControl(
  { cacheControl: shown = '', timeCreated }: ObjectResource,
  file: Pick<StoredFile, 'expiresAt' | 'cacheSeconds'>,
): boolean {
  const longest = cacheControl(file, Date.parse(timeCreated) - cacheToleranceSeconds * 1000);
  const seconds = /^public, max-age=(\d+)/.exec(shown)?.[1];
  const most = Number(/max-age=(\d+)/.exec(longest)?.[1]);
  return seconds !== undefined && Number(seconds) <= most && shown === longest.replace(/\d+/, seconds);
}
