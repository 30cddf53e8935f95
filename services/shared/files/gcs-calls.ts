import { buffer } from 'node:stream/consumers';
import type { Bucket } from '@google-cloud/storage';
import { addToRequests, readStream, removeObject } from './bounded-storage.ts';
import type { NewFile } from './file-store.ts';
import type { GcsClient, GcsLimits } from './gcs-client.ts';
import { brokenAnswer, GcsError, type GcsOperation } from './gcs-error.ts';
import { describeObject, type ObjectResource } from './object-description.ts';
import type { ContentHashes } from './upload.ts';

/** An object by its name, without the prefix of all files, and optionally one generation of it. */
interface ObjectRef {
  readonly name: string;
  readonly generation?: string;
}

/** Returns the metadata of an object, or null if it does not exist. Throws a GcsError. */
export function getObject(client: GcsClient, name: string, limits: GcsLimits): Promise<ObjectResource | null> {
  const get = async (bucket: Bucket) => resourceIn('get', (await bucket.file(client.prefix + name).getMetadata())[0]);
  return client.call('get', limits, ({ bucket }) => get(bucket), { resultOf: client.nullIfMissing });
}

/** Returns the first bytes of an object, at most `length`, or null if it does not exist. Throws a GcsError. */
export function readHead(
  client: GcsClient,
  { name, generation }: Required<ObjectRef>,
  length: number,
  limits: GcsLimits,
): Promise<Buffer | null> {
  const range = { start: 0, end: length - 1 };
  return client.call<Buffer | null>(
    'get',
    limits,
    ({ bucket }) => buffer(readStream(bucket.file(client.prefix + name, { generation }), range)),
    // An empty object has no satisfiable range.
    {
      resultOf: (error, signal) => (error.status === 416 ? Buffer.alloc(0) : client.nullIfMissing(error, signal)),
    },
  );
}

/** Deletes an object, optionally only one generation. A missing object is not an error. Throws a GcsError. */
export async function deleteObject(client: GcsClient, { name, ...rest }: ObjectRef, limits: GcsLimits): Promise<void> {
  const object = { ...rest, name: client.prefix + name };
  await client.call<unknown>('delete', limits, ({ bucket, token }) => removeObject(bucket, token, object), {
    resultOf: (error, signal) => (error.isConflict ? null : client.nullIfMissing(error, signal)),
  });
}

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
 * Copies an object within the bucket, without a transfer; readers get either the old object or the new one. Returns null
 * if the destination or the source has another generation, possibly because of an attempt of this call whose answer was
 * lost, or if there is no source. Throws a GcsError.
 */
export function copyObject(
  client: GcsClient,
  { source, sourceGeneration, destination, expected, description }: ObjectCopy,
  limits: GcsLimits,
): Promise<ObjectResource | null> {
  const conditions = { ifGenerationMatch: expected, ifSourceGenerationMatch: sourceGeneration };
  const copy = async ({ storage, name }: Bucket) => {
    const bucket = storage.bucket(name);
    // Copying a large object between locations or storage classes takes several requests; after the first one, the
    // library omits conditions and metadata.
    addToRequests(bucket, ({ qs }) => ({ qs: { ...qs, ...conditions }, json: description }));
    const from = bucket.file(client.prefix + source, { generation: sourceGeneration });
    const [, answer] = await from.copy(bucket.file(client.prefix + destination));
    return resourceIn('create', (answer as { readonly resource?: unknown }).resource);
  };
  return client.call('create', limits, ({ bucket }) => copy(bucket), {
    // The bucket was checked at the start of the service, so for a 404 the source is missing.
    resultOf: ({ status }) => (status === 412 || status === 404 ? null : undefined),
  });
}

export interface ObjectCreation {
  readonly file: NewFile;
  /** Name of the object. */
  readonly object: string;
  /** Hashes of the content. */
  readonly hashes: ContentHashes;
  /** Unix milliseconds. */
  readonly now: number;
}

/** Maximum number of 400 responses: one may be caused by damaged bytes, but an invalid request stays invalid. */
const maxRefusals = 2;

/** The object must not exist. */
const preconditionOpts = { ifGenerationMatch: 0 };

/**
 * Uploads a file, with retries within the limits; a large upload continues after a broken connection. The bucket refuses bytes
 * that do not have the file's MD5. Returns null when the object exists, possibly from an attempt of this call with a lost
 * answer. Throws a GcsError; the object then does not exist, or is complete.
 */
export function createObject(
  client: GcsClient,
  { file, object, hashes, now }: ObjectCreation,
  limits: GcsLimits,
): Promise<ObjectResource | null> {
  const { bytes } = file;
  const isLarge = bytes.length > client.maxRequestBytes;
  const metadata = { md5Hash: hashes.md5, ...describeObject({ ...file, name: object, etag: hashes.etag }, now) };
  const what: Sending = { name: client.prefix + object, bytes, metadata };
  let session: Session | null = null;
  let refusals = 0;
  const send = async (bucket: Bucket) => {
    if (!isLarge) return resourceIn('create', await sendAtOnce(bucket, what));
    session ??= { uri: await openSession(bucket, what), isBegun: false };
    return resourceIn('create', await sendRest(session, bucket, what));
  };
  return client.call('create', limits, ({ bucket }) => send(bucket), {
    sentBytes: bytes.length,
    resultOf: (error) => {
      if (error.isConflict) return null;
      // An expired or lost session, or one that has failed: the next attempt sends all bytes again.
      const isGone = session !== null && [404, 410].includes(error.status ?? 0);
      if (isGone || error.status === 400) session = null;
      if (isGone) throw brokenAnswer('create', 'the bucket has forgotten the upload');
      if (error.status === 400 && ++refusals <= maxRefusals)
        throw new GcsError('create', { ...error, transient: true });
      return undefined;
    },
  });
}

interface Sending {
  /** Including the prefix. */
  readonly name: string;
  readonly bytes: Buffer;
  readonly metadata: { readonly contentType: string };
}

async function sendAtOnce(bucket: Bucket, { name, bytes, metadata }: Sending): Promise<unknown> {
  const target = bucket.file(name);
  await target.save(bytes, { resumable: false, validation: false, metadata, preconditionOpts });
  return target.metadata;
}

/** A resumable upload. The object becomes visible with its last byte, and an unfinished upload expires after a week. */
interface Session {
  readonly uri: string;
  /** Whether the bucket may have received bytes. */
  isBegun: boolean;
}

/** Returns the address of a new resumable upload. This needs the right to create the object, and creates none. */
export async function openSession(
  bucket: Bucket,
  { name, bytes, metadata }: Omit<Sending, 'bytes'> & { readonly bytes?: Buffer },
): Promise<string> {
  const described = { ...metadata, ...(bytes === undefined ? {} : { contentLength: bytes.length }) };
  const [uri] = await bucket.file(name).createResumableUpload({ metadata: described, preconditionOpts });
  // The library treats any 2xx response as a session.
  if (typeof uri !== 'string') throw new Error('the bucket named no address to upload to');
  return uri;
}

/** Sends the bytes that the bucket does not have. */
async function sendRest(session: Session, bucket: Bucket, { name, bytes, metadata }: Sending): Promise<unknown> {
  const { contentType } = metadata;
  const target = bucket.file(name);
  // The library sends the type when it opens the session; emulators ignore it there.
  addToRequests(target, () => ({ headers: { 'content-type': contentType } }));
  const options = { uri: session.uri, validation: false, metadata: { contentType, contentLength: bytes.length } };
  // Without an offset, the library asks the bucket for the received bytes.
  const begin = session.isBegun ? {} : { offset: 0 };
  session.isBegun = true;
  await target.save(bytes, { ...options, ...begin });
  return target.metadata;
}

/** Returns the resource in a response. Throws a GcsError for anything else, such as a page of a proxy or an incomplete response. */
function resourceIn(operation: GcsOperation, answer: unknown): ObjectResource {
  const { name, generation } = (answer ?? {}) as Partial<ObjectResource>;
  if (typeof name === 'string' && typeof generation === 'string') return answer as ObjectResource;
  throw brokenAnswer(operation, 'the answer is no object');
}
