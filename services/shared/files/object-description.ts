import { createHash } from 'node:crypto';
import { cacheControl, contentDisposition, uuidOfFileName } from './file-name.ts';
import type { ExpectedUpload, StoredFile } from './file-store.ts';
import { UploadRejectedError, verifyExpiry } from './upload.ts';

/** A file in a bucket. */
export interface BucketFile extends StoredFile {
  /** Generation of the object. It changes when the object is replaced. */
  readonly generation: string;
  /** MD5 of the content in base64; null if the bucket does not provide it. */
  readonly md5: string | null;
  /** The upload that was copied to this object; null if the file was created in place. */
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

/** Metadata for an object. `name` contains the uuid of the capture. */
export type Described = Omit<StoredFile, 'storedAt' | 'size'> & { readonly account: string };

/**
 * Returns the metadata of a file's object. Its Cache-Control counts from `now` and is the same for every download. If a cache stores a copy
 * late, the copy may therefore outlive the file, by at most the file's lifetime. `customTime` is the expiry of the file, for a lifecycle
 * rule that removes leftovers.
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

/** The metadata of an object, as its bucket stores it. */
export type ObjectDescription = ReturnType<typeof describeObject>;

/** The account of a file in its metadata, as a hash. */
const accountTag = (account: string) => createHash('sha256').update(account).digest('hex').slice(0, 32);

/** Returns the file of an object. Returns null if the object does not belong to this service. */
export function fileOfObject(prefix: string, object: ObjectResource): BucketFile | null {
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

/** Tolerance of the Cache-Control. The clock of a renderer may be wrong, and its upload may have taken long. */
const cacheToleranceSeconds = 600;

/**
 * Compares an object with the request and with its uploader's description. A compromised renderer may describe its objects as it likes, and
 * the CDN would serve them under its address. The description must therefore be exactly what this service would write. Throws an {@link
 * UploadRejectedError}.
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

/** Whether this service would have written the same Cache-Control. The remaining time may differ, because the renderer wrote it earlier. */
function isOurCacheControl(
  { cacheControl: shown = '', timeCreated }: ObjectResource,
  file: Pick<StoredFile, 'expiresAt' | 'cacheSeconds'>,
): boolean {
  const longest = cacheControl(file, Date.parse(timeCreated) - cacheToleranceSeconds * 1000);
  const seconds = /^public, max-age=(\d+)/.exec(shown)?.[1];
  const most = Number(/max-age=(\d+)/.exec(longest)?.[1]);
  return seconds !== undefined && Number(seconds) <= most && shown === longest.replace(/\d+/, seconds);
}
