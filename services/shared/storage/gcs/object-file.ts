import { createHash } from 'node:crypto';
import { cacheControl } from '../cache-control.ts';
import { contentTag } from '../content-tag.ts';
import { contentDisposition, uuidOf } from '../download-name.ts';
import type { NewFile, StoredFile } from '../file-store.ts';
import { GcsError, type GcsOperation } from './gcs-error.ts';

/** A file of a bucket. */
export interface GcsFile extends StoredFile {
  /** The object's: a name, once replaced, is of another. */
  readonly generation: string;
  /** Of its bytes, in base64; null where the bucket does not tell it. */
  readonly md5: string | null;
  /** Of this writing of the file, and of the writing that it took the place of. */
  readonly writeId: string;
  readonly replacedWriteId: string | null;
}

/** What the JSON API tells of an object, as far as it is asked for. */
export interface ObjectResource {
  readonly name: string;
  readonly generation: string;
  readonly size: string;
  readonly contentType?: string;
  readonly md5Hash?: string;
  readonly timeCreated: string;
  readonly metadata?: Readonly<Record<string, string>>;
}

/** The resource that an answer holds. Throws a GcsError when it is something else: a page of a proxy, half an answer. */
export function resourceIn(operation: GcsOperation, json: unknown): ObjectResource {
  const { name, generation } = (json ?? {}) as Partial<ObjectResource>;
  if (typeof name === 'string' && typeof generation === 'string') return json as ObjectResource;
  throw new GcsError(operation, { failure: 'connection', detail: 'the answer is no object', transient: true });
}

/** The fields of an {@link ObjectResource}. */
export const objectFields = 'name,generation,size,contentType,md5Hash,timeCreated,metadata';

/**
 * What is told of a file when it is uploaded. The bucket holds the bytes against `md5Hash` before anybody can see them.
 *
 * Its Cache-Control counts from the upload and is the same for every download: a copy that a cache takes late may outlive
 * the file, by its lifetime at most. `customTime` is the end of the file's life, for a lifecycle rule that removes what was
 * left behind.
 */
export function describeUpload(
  file: NewFile,
  {
    name,
    md5,
    writeId,
    replacedWriteId,
  }: Pick<GcsFile, 'name' | 'md5' | 'writeId' | 'replacedWriteId'> & { readonly md5: string },
): object {
  const { expiresAt, cacheSeconds } = file;
  return {
    name,
    contentType: file.contentType,
    contentDisposition: contentDisposition(file),
    cacheControl: cacheControl(file, Date.now()),
    customTime: new Date(expiresAt).toISOString(),
    md5Hash: md5,
    metadata: {
      uuid: uuidOf(file.name),
      account: createHash('sha256').update(file.account).digest('hex').slice(0, 32),
      etag: contentTag(file.bytes),
      width: String(file.width),
      height: String(file.height),
      'expires-at': String(expiresAt),
      ...(cacheSeconds === undefined ? {} : { 'cache-seconds': String(cacheSeconds) }),
      'write-id': writeId,
      ...(replacedWriteId === null ? {} : { 'replaced-write-id': replacedWriteId }),
    },
  };
}

/** The file that an object is; null when it is none of ours. `prefix`: of the names of all files in the bucket. */
export function fileOfObject(object: ObjectResource, prefix: string): GcsFile | null {
  const { metadata = {}, md5Hash, contentType } = object;
  const { etag, width, height, 'expires-at': expiresAt, 'write-id': writeId } = metadata;
  if (etag === undefined || expiresAt === undefined || writeId === undefined) return null;
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
    ...(cacheSeconds === undefined ? {} : { cacheSeconds: Number(cacheSeconds) }),
    generation: object.generation,
    md5: md5Hash ?? null,
    writeId,
    replacedWriteId: metadata['replaced-write-id'] ?? null,
  };
}

export const md5Of = (bytes: Uint8Array) => createHash('md5').update(bytes).digest('base64');
