import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { Bucket, Storage } from '@google-cloud/storage';
import { untilAborted } from '../runtime/deadline.ts';
import { addToRequests, closeIdle, readStream, removeObject } from './bounded-storage.ts';
import { BucketClient, type BucketClientOptions, type ObjectBody } from './bucket-client.ts';
import type { ByteRange } from './file-store.ts';
import { toGcsError } from './gcs-error.ts';
import type {
  BucketWords,
  ObjectBucket,
  ObjectCopy,
  ObjectCreation,
  ObjectLimits,
  ObjectRef,
  OpenedObject,
} from './object-bucket.ts';
import { type BucketFile, describeObject, type ObjectResource } from './object-description.ts';
import { brokenAnswer, ObjectError, type ObjectOperation } from './object-error.ts';

export interface GcsOptions extends BucketClientOptions {
  /** Creates a client of Google's library with the credentials that it finds: a key file, those of gcloud, or the metadata server. */
  readonly open: () => Storage;
  /** Uploads up to this size in bytes use a single request. Default: 8 MiB. */
  readonly maxRequestBytes?: number;
}

/** Time for which the permissions are cached, and timeout of querying them. */
const grantedMs = 60_000;
const askMs = 5000;

/** Maximum number of 400 responses. Damaged bytes may cause one such response, but an invalid request causes it each time. */
const maxRefusals = 2;

/** With this condition, the object must not exist. */
const preconditionOpts = { ifGenerationMatch: 0 };

/** A bucket in Google Cloud Storage. */
export class GcsBucket implements ObjectBucket {
  readonly bucket: string;
  readonly prefix: string;
  readonly silenceMs: number;
  readonly backoffMs: number;
  readonly isAnonymous: boolean;
  readonly words = words;
  readonly #client: BucketClient<Bucket>;
  readonly #maxRequestBytes: number;
  #granted: Promise<readonly string[]> = Promise.resolve([]);
  #grantedUntil = 0;

  constructor(options: GcsOptions) {
    const { bucket, prefix = '', open, maxRequestBytes = 8 * 1024 * 1024 } = options;
    this.bucket = bucket;
    this.prefix = prefix;
    this.#client = new BucketClient(options, {
      open: () => open().bucket(bucket),
      isAnonymous: ({ storage }) => storage.customEndpoint && storage.useAuthWithCustomEndpoint !== true,
      authorize: tokenOf,
      toError: toGcsError,
    });
    ({ isAnonymous: this.isAnonymous, silenceMs: this.silenceMs, backoffMs: this.backoffMs } = this.#client);
    this.#maxRequestBytes = maxRequestBytes;
  }

  /** Opens a resumable upload, and sends no data. */
  async tryCreate(name: string, limits: ObjectLimits): Promise<void> {
    const what = { name: this.prefix + name, metadata: { contentType: 'image/png' } };
    await this.#client.call('create', limits, ({ library }) => openSession(library, what));
  }

  create({ file, object, hashes, now }: ObjectCreation, limits: ObjectLimits): Promise<string | null> {
    const { bytes } = file;
    const metadata = { md5Hash: hashes.md5, ...describeObject({ ...file, name: object, etag: hashes.etag }, now) };
    const what: Sending = { name: this.prefix + object, bytes, metadata };
    let session: Session | null = null;
    let refusals = 0;
    const send = async (bucket: Bucket) => {
      if (bytes.length <= this.#maxRequestBytes) return sendAtOnce(bucket, what);
      session ??= { uri: await openSession(bucket, what), isBegun: false };
      return sendRest(session, bucket, what);
    };
    return this.#client.call<string | null>(
      'create',
      limits,
      async ({ library }) => resourceIn('create', await send(library)).generation,
      {
        sentBytes: bytes.length,
        resultOf: (error) => {
          if (error.isConflict) return null;
          // The session has expired, was lost, or has failed. The next attempt sends all bytes again.
          const isGone = session !== null && [404, 410].includes(error.status ?? 0);
          if (isGone || error.status === 400) session = null;
          if (isGone) throw brokenAnswer('create', 'the bucket has forgotten the upload');
          if (error.status === 400 && ++refusals <= maxRefusals) {
            throw new ObjectError('create', { ...error, transient: true });
          }
          return undefined;
        },
      },
    );
  }

  get(name: string, limits: ObjectLimits): Promise<ObjectResource | null> {
    const get = async (bucket: Bucket) => resourceIn('get', (await bucket.file(this.prefix + name).getMetadata())[0]);
    return this.#client.call('get', limits, ({ library }) => get(library), { resultOf: this.#nullIfMissing });
  }

  readHead({ name, generation }: Required<ObjectRef>, length: number, limits: ObjectLimits): Promise<Buffer | null> {
    const range = { start: 0, end: length - 1 };
    const read = (bucket: Bucket) => buffer(readStream(bucket.file(this.prefix + name, { generation }), range));
    return this.#client.call<Buffer | null>('get', limits, ({ library }) => read(library), {
      // An empty object has no range that can be satisfied.
      resultOf: (error, signal) => (error.status === 416 ? Buffer.alloc(0) : this.#nullIfMissing(error, signal)),
    });
  }

  open({ name, generation, size }: BucketFile, range: ByteRange, limits: ObjectLimits): Promise<OpenedObject | null> {
    const isWhole = range.start === 0 && range.end === size - 1;
    const read = async (bucket: Bucket): Promise<ObjectBody> => {
      const body = readStream(bucket.file(this.prefix + name, { generation }), isWhole ? {} : range);
      const { status, headers } = await headOf(body);
      const isRequested = (headers['x-goog-generation'] ?? generation) === generation;
      return { body, isRequested, isPartial: status === 206 };
    };
    const options = { resultOf: this.#nullIfMissing };
    return this.#client.open(limits, { isWhole }, ({ library }) => read(library), options);
  }

  async remove({ name, ...rest }: ObjectRef, limits: ObjectLimits): Promise<void> {
    const object = { ...rest, name: this.prefix + name };
    await this.#client.call<unknown>('delete', limits, ({ library, token }) => removeObject(library, token, object), {
      resultOf: (error, signal) => (error.isConflict ? null : this.#nullIfMissing(error, signal)),
    });
  }

  copy(
    { source, sourceGeneration, destination, expected, description }: ObjectCopy,
    limits: ObjectLimits,
  ): Promise<ObjectResource | null> {
    const conditions = { ifGenerationMatch: expected ?? '0', ifSourceGenerationMatch: sourceGeneration };
    const copy = async ({ storage, name }: Bucket) => {
      const bucket = storage.bucket(name);
      // Copying a large object between locations or storage classes takes several requests. After the first one, the library omits
      // conditions and metadata.
      addToRequests(bucket, ({ qs }) => ({ qs: { ...qs, ...conditions }, json: description }));
      const from = bucket.file(this.prefix + source, { generation: sourceGeneration });
      const [, answer] = await from.copy(bucket.file(this.prefix + destination));
      return resourceIn('create', (answer as { readonly resource?: unknown }).resource);
    };
    return this.#client.call('create', limits, ({ library }) => copy(library), {
      // The bucket was checked at the start of the service, so a 404 means that the source is missing.
      resultOf: ({ status }) => (status === 412 || status === 404 ? null : undefined),
    });
  }

  async signLink(name: string, expiresAt: number): Promise<string> {
    const file = this.#client.library.file(this.prefix + name);
    const [link] = await file.getSignedUrl({ version: 'v4', action: 'read', expires: expiresAt });
    return link;
  }

  noteRetry(error: ObjectError): void {
    this.#client.noteRetry(error);
  }

  close(): void {
    closeIdle();
  }

  /**
   * Converts an error to null if it means that an object does not exist. Without the right to list, a bucket answers 403 instead of 404, to
   * hide which names exist. A 403 counts as missing only if the bucket grants the refused right.
   */
  readonly #nullIfMissing = async (error: ObjectError, signal: AbortSignal): Promise<null | undefined> => {
    if (error.isObjectMissing) return null;
    if (!error.isForbidden || !error.detail.includes('(or it may not exist)')) return undefined;
    const granted = await untilAborted(this.#rights(), signal);
    return granted.includes(`storage.objects.${error.operation}`) ? null : undefined;
  };

  /**
   * Returns the permissions that the bucket grants, according to a response of the last minute. Returns none if they cannot be queried, as
   * with emulators. Every client may query its own permissions. The result does not include permissions with a condition, for instance on a
   * prefix.
   */
  #rights(): Promise<readonly string[]> {
    if (Date.now() < this.#grantedUntil) return this.#granted;
    const rights = ['storage.objects.get', 'storage.objects.delete'];
    const asking = this.#client.call('testPermissions', { deadline: Date.now() + askMs }, async ({ library }) => {
      const [granted] = await library.iam.testPermissions(rights);
      return rights.filter((right) => granted[right] === true);
    });
    this.#grantedUntil = Date.now() + grantedMs;
    this.#granted = asking.catch(() => {
      this.#grantedUntil = 0;
      return [];
    });
    return this.#granted;
  }
}

const tokenOf = async ({ storage }: Bucket) => (await storage.authClient.getRequestHeaders()).get('authorization');

const words: BucketWords = {
  rights: {
    create: 'storage.objects.create',
    get: 'storage.objects.get',
    delete: 'storage.objects.delete',
    list: 'storage.objects.list',
  },
  grant: { create: 'roles/storage.objectCreator', all: 'roles/storage.objectUser' },
  credentials:
    'name a key file in GOOGLE_APPLICATION_CREDENTIALS, or run with a service account (Workload Identity); an emulator is named by ' +
    "WEBCAPTURE_GCS_ENDPOINT. Google's library says",
  variable: 'WEBCAPTURE_GCS_BUCKET',
};

interface Sending {
  /** Name including the prefix. */
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

/** Returns the address of a new resumable upload. This needs the right to create the object, but does not create it. */
async function openSession(
  bucket: Bucket,
  { name, bytes, metadata }: Omit<Sending, 'bytes'> & { readonly bytes?: Buffer },
): Promise<string> {
  const described = { ...metadata, ...(bytes === undefined ? {} : { contentLength: bytes.length }) };
  const [uri] = await bucket.file(name).createResumableUpload({ metadata: described, preconditionOpts });
  // The library treats any 2xx response as a session.
  if (typeof uri !== 'string') throw new Error('the bucket returned no address for the upload');
  return uri;
}

/** Sends those bytes that the bucket does not have. */
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

/** Returns the resource in a response. Throws an ObjectError for anything else, such as a page of a proxy or an incomplete response. */
function resourceIn(operation: ObjectOperation, answer: unknown): ObjectResource {
  const { name, generation } = (answer ?? {}) as Partial<ObjectResource>;
  if (typeof name === 'string' && typeof generation === 'string') return answer as ObjectResource;
  throw brokenAnswer(operation, 'the answer is no object');
}

/** Returns the head of the answer of a library stream. For a status other than 2xx the stream emits an error. */
async function headOf(body: Readable) {
  const answered = once(body, 'response');
  // The read makes the stream send the request.
  body.read(0);
  const [answer] = (await answered) as [{ statusCode: number; headers: Record<string, string> }];
  if (answer.statusCode >= 300) await once(body, 'end');
  return { status: answer.statusCode, headers: answer.headers };
}
