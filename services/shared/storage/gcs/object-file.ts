import { createHash } from 'node:crypto';
import { cacheControl } from '../cache-control.ts';
import { contentDisposition, uuidOf } from '../download-name.ts';
import type { StoredFile } from '../file-store.ts';
import { GcsError, type GcsOperation } from './gcs-error.ts';

/** A file of a bucket. */
export interface GcsFile extends StoredFile {
  /** The object's: a name, once replaced, is of another. */
  readonly generation: string;
  /** Of its bytes, in base64; null where the bucket does not tell it. */
  readonly md5: string | null;
  /** The upload that was put in place here by a copy; null where the file was created in its place. */
  readonly upload: string | null;
}

/** What is told of an object, as far as it is of use here. */
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

/** The resource that an answer holds. Throws a GcsError when it is something else: a page of a proxy, half an answer. */
export function resourceIn(operation: GcsOperation, answer: unknown): ObjectResource {
  const { name, generation } = (answer ?? {}) as Partial<ObjectResource>;
  if (typeof name === 'string' && typeof generation === 'string') return answer as ObjectResource;
  throw new GcsError(operation, { failure: 'connection', detail: 'the answer is no object', transient: true });
}

/** What an object is described by. `name`: whose uuid it is of. */
export type Described = Omit<StoredFile, 'storedAt' | 'size'> & { readonly account: string };

/**
 * What is told of a file with its object.
 *
 * Its Cache-Control counts from `now` and is the same for every download: a copy that a cache takes late may outlive
 * the file, by its lifetime at most. `customTime` is the end of the file's life, for a lifecycle rule that removes what was
 * left behind.
 *
 * @param upload the upload that is put in place by this writing
 */
export function describeObject(file: Described, now: number, upload?: string) {
  const { name, account, contentType, etag, width, height, expiresAt, cacheSeconds } = file;
  return {
    contentType,
    contentDisposition: contentDisposition(file),
    cacheControl: cacheControl(file, now),
    customTime: new Date(expiresAt).toISOString(),
    metadata: {
      uuid: uuidOf(name),
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

/** Whose file an object is, in its description. */
export const accountTag = (account: string) => createHash('sha256').update(account).digest('hex').slice(0, 32);

/** The file that an object is; null when it is none of ours. `prefix`: of the names of all files in the bucket. */
export function fileOfObject(object: ObjectResource, prefix: string): GcsFile | null {
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
    ...(cacheSeconds === undefined ? {} : { cacheSeconds: Number(cacheSeconds) }),
    generation: object.generation,
    md5: md5Hash ?? null,
    upload: metadata['upload'] ?? null,
  };
}
