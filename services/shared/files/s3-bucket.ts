import http from 'node:http';
import https from 'node:https';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type * as clientS3 from '@aws-sdk/client-s3';
import type { CopyObjectCommandInput, GetObjectCommandOutput, S3, S3ClientConfig } from '@aws-sdk/client-s3';
import type * as presigner from '@aws-sdk/s3-request-presigner';
import { closeIdle } from './bounded-storage.ts';
import { type BucketAttempt, BucketClient, type BucketClientOptions } from './bucket-client.ts';
import type { ByteRange } from './file-store.ts';
import type {
  BucketWords,
  ObjectBucket,
  ObjectCopy,
  ObjectCreation,
  ObjectLimits,
  ObjectRef,
  OpenedObject,
} from './object-bucket.ts';
import { type BucketFile, describeObject, type ObjectDescription, type ObjectResource } from './object-description.ts';
import { isPassing, ObjectError, type ObjectOperation } from './object-error.ts';

/** The official library, which is imported only where a bucket of S3 is configured. */
export type S3Library = Pick<typeof clientS3, 'S3' | 'GetObjectCommand'> & Pick<typeof presigner, 'getSignedUrl'>;

export async function loadS3(): Promise<S3Library> {
  const { S3, GetObjectCommand } = await import('@aws-sdk/client-s3');
  const { getSignedUrl } = await import('@aws-sdk/s3-request-presigner');
  return { S3, GetObjectCommand, getSignedUrl };
}

export interface S3Options extends BucketClientOptions {
  readonly s3: S3Library;
  readonly config: S3ClientConfig;
}

const dayMs = 86_400_000;

/** Reasons with which the bucket refuses bytes that do not have the declared digests. */
const damaged = ['BadDigest', 'InvalidDigest', 'XAmzContentSHA256Mismatch'];

/** Maximum number of attempts that the bucket refuses because the bytes were damaged in transit. */
const maxRefusals = 2;

/** A bucket of Amazon S3, or of a server with the same API. */
export class S3Bucket implements ObjectBucket {
  readonly bucket: string;
  readonly prefix: string;
  readonly silenceMs: number;
  readonly backoffMs: number;
  readonly isAnonymous = false;
  readonly words = words;
  readonly #s3: S3Library;
  readonly #client: BucketClient<S3>;

  constructor(options: S3Options) {
    const { bucket, prefix = '', s3, config } = options;
    this.bucket = bucket;
    this.prefix = prefix;
    this.#s3 = s3;
    this.#client = new BucketClient(options, {
      open: () =>
        new s3.S3({
          // Only BucketClient retries, and an upload declares its MD5.
          maxAttempts: 1,
          requestChecksumCalculation: 'WHEN_REQUIRED',
          responseChecksumValidation: 'WHEN_REQUIRED',
          requestHandler: { httpAgent: http.globalAgent, httpsAgent: https.globalAgent },
          ...config,
        }),
      isAnonymous: () => false,
      authorize: async ({ config: { credentials } }) => {
        await credentials();
        return null;
      },
      toError: toS3Error,
    });
    ({ silenceMs: this.silenceMs, backoffMs: this.backoffMs } = this.#client);
  }

  /** Tries to upload an object with a wrong MD5, which no S3 server accepts. A service without the right to create gets another error. */
  async tryCreate(name: string, limits: ObjectLimits): Promise<void> {
    const object = { ...this.#object(name), Body: 'x', ContentMD5: Buffer.alloc(16).toString('base64') };
    const put = ({ library, signal }: BucketAttempt<S3>) => library.putObject(object, { abortSignal: signal });
    await this.#client.call<unknown>('create', limits, put, {
      resultOf: ({ reason = '' }) => (damaged.includes(reason) ? null : undefined),
    });
  }

  create({ file, object, hashes, now }: ObjectCreation, limits: ObjectLimits): Promise<string | null> {
    const { bytes } = file;
    const description = describeObject({ ...file, name: object, etag: hashes.etag }, now);
    let refusals = 0;
    const put = async ({ library, signal }: BucketAttempt<S3>) => {
      const conditions = { ContentMD5: hashes.md5, IfNoneMatch: '*' };
      const input = { ...this.#object(object), ...headersOf(description, now), ...conditions, Body: bytes };
      return generationOf(await library.putObject(input, { abortSignal: signal }));
    };
    return this.#client.call<string | null>('create', limits, put, {
      sentBytes: bytes.length,
      resultOf: (error) => {
        if (error.status === 412) return null;
        if (damaged.includes(error.reason ?? '') && ++refusals <= maxRefusals) {
          throw new ObjectError('create', { ...error, transient: true });
        }
        return undefined;
      },
    });
  }

  get(name: string, limits: ObjectLimits): Promise<ObjectResource | null> {
    const head = async ({ library, signal }: BucketAttempt<S3>): Promise<ObjectResource> => {
      const answer = await library.headObject(this.#object(name), { abortSignal: signal });
      const generation = generationOf(answer);
      const { Metadata: metadata = {}, ContentType, ContentEncoding, ContentDisposition, CacheControl } = answer;
      const expiresAt = Number(metadata['expires-at']);
      return {
        name: this.prefix + name,
        generation,
        size: String(answer.ContentLength),
        timeCreated: (answer.LastModified ?? new Date()).toISOString(),
        metadata,
        ...(ContentType === undefined ? {} : { contentType: ContentType }),
        ...(ContentEncoding === undefined ? {} : { contentEncoding: ContentEncoding }),
        ...(ContentDisposition === undefined ? {} : { contentDisposition: ContentDisposition }),
        ...(CacheControl === undefined ? {} : { cacheControl: CacheControl }),
        ...(Number.isFinite(expiresAt) ? { customTime: new Date(expiresAt).toISOString() } : {}),
        // If an object was uploaded in one request without encryption by KMS, its ETag is its MD5.
        ...(/^[0-9a-f]{32}$/.test(generation) ? { md5Hash: Buffer.from(generation, 'hex').toString('base64') } : {}),
      };
    };
    return this.#client.call('get', limits, head, { resultOf: nullIfMissing });
  }

  readHead({ name, generation }: Required<ObjectRef>, length: number, limits: ObjectLimits): Promise<Buffer | null> {
    const read = async (attempt: BucketAttempt<S3>) =>
      buffer((await this.#read(attempt, { name, generation }, { start: 0, end: length - 1 })).Body as Readable);
    return this.#client.call<Buffer | null>('get', limits, read, {
      // An empty object has no range that can be satisfied.
      resultOf: (error) => (error.status === 416 ? Buffer.alloc(0) : nullIfMissing(error)),
    });
  }

  open(file: BucketFile, range: ByteRange, limits: ObjectLimits): Promise<OpenedObject | null> {
    const isWhole = range.start === 0 && range.end === file.size - 1;
    const read = async (attempt: BucketAttempt<S3>) => {
      const answer = await this.#read(attempt, file, isWhole ? undefined : range);
      const isRequested = generationOf(answer) === file.generation;
      return { body: answer.Body as Readable, isRequested, isPartial: answer.ContentRange !== undefined };
    };
    return this.#client.open(limits, { isWhole }, read, { resultOf: nullIfMissing });
  }

  async remove({ name, generation }: ObjectRef, limits: ObjectLimits): Promise<void> {
    const condition = generation === undefined ? {} : { IfMatch: `"${generation}"` };
    const input = { ...this.#object(name), ...condition };
    const remove = ({ library, signal }: BucketAttempt<S3>) => library.deleteObject(input, { abortSignal: signal });
    await this.#client.call<unknown>('delete', limits, remove, { resultOf: nullIfMissing });
  }

  async copy(
    { source, sourceGeneration, destination, expected, description }: ObjectCopy,
    limits: ObjectLimits,
  ): Promise<ObjectResource | null> {
    const path = [this.bucket, ...(this.prefix + source).split('/')].map(encodeURIComponent).join('/');
    const input: CopyObjectCommandInput = {
      ...this.#object(destination),
      ...headersOf(description, Date.now()),
      CopySource: path,
      CopySourceIfMatch: `"${sourceGeneration}"`,
      MetadataDirective: 'REPLACE',
      TaggingDirective: 'REPLACE',
      ...(expected === null ? { IfNoneMatch: '*' } : { IfMatch: `"${expected}"` }),
    };
    const make = ({ library, signal }: BucketAttempt<S3>) => library.copyObject(input, { abortSignal: signal });
    const copied = await this.#client.call<unknown>('create', limits, make, {
      // The bucket was checked at the start of the service, so a 404 means that the source or the destination is missing.
      resultOf: ({ status }) => (status === 412 || status === 404 ? null : undefined),
    });
    return copied === null ? null : this.get(destination, limits);
  }

  signLink(name: string, expiresAt: number): Promise<string> {
    const { library } = this.#client;
    const expiresIn = Math.max(1, Math.floor((expiresAt - Date.now()) / 1000));
    return this.#s3.getSignedUrl(library, new this.#s3.GetObjectCommand(this.#object(name)), { expiresIn });
  }

  noteRetry(error: ObjectError): void {
    this.#client.noteRetry(error);
  }

  close(): void {
    closeIdle();
  }

  readonly #object = (name: string) => ({ Bucket: this.bucket, Key: this.prefix + name });

  #read(
    { library, signal }: BucketAttempt<S3>,
    { name, generation }: Required<ObjectRef>,
    range?: ByteRange,
  ): Promise<GetObjectCommandOutput> {
    const part = range === undefined ? {} : { Range: `bytes=${range.start}-${range.end}` };
    const input = { ...this.#object(name), IfMatch: `"${generation}"`, ...part };
    return library.getObject(input, { abortSignal: signal });
  }
}

/** The generation of an object is its ETag, without quotes. */
function generationOf({ ETag }: { readonly ETag?: string | undefined }): string {
  if (ETag === undefined) throw new Error('the answer has no ETag');
  return ETag.replaceAll('"', '');
}

/** Converts an error to null if it means that an object, or the requested generation of it, does not exist. */
const nullIfMissing = (error: ObjectError): null | undefined =>
  error.isObjectMissing || error.status === 412 ? null : undefined;

/**
 * Returns the metadata of an object for S3. S3 has no custom time. Instead, lifecycle rules that remove leftovers use the tag
 * `expires-within-days`. Its value is the smallest power of two of days after which the object has expired.
 */
function headersOf(
  { contentType, contentDisposition, cacheControl, customTime, metadata }: ObjectDescription,
  now: number,
) {
  const days = (Date.parse(customTime) - now) / dayMs;
  return {
    ContentType: contentType,
    ContentDisposition: contentDisposition,
    CacheControl: cacheControl,
    Metadata: metadata,
    Tagging: `expires-within-days=${2 ** Math.max(0, Math.ceil(Math.log2(days)))}`,
  };
}

/** Reasons that a retry can overcome, although the status is below 500. */
const passing = ['ConditionalRequestConflict', 'OperationAborted', 'RequestTimeout', 'SlowDown', 'Throttling'];

/** Reasons that mean the same as a 401. */
const expired = ['ExpiredToken', 'TokenRefreshRequired', 'InvalidToken'];

/** Converts any thrown value. The thrown value is not kept, because it may contain credentials and names of files. */
function toS3Error(operation: ObjectOperation, thrown: unknown): ObjectError {
  if (thrown instanceof ObjectError) return thrown;
  const { name, message, code, $metadata } = thrown as {
    readonly name?: string;
    readonly message?: string;
    readonly code?: unknown;
    readonly $metadata?: { readonly httpStatusCode?: number };
  };
  const status = $metadata?.httpStatusCode;
  if (status === undefined || status < 300) {
    const detail = [typeof code === 'string' ? code : '', message ?? String(thrown)].filter(Boolean).join(', ');
    const failure = name === 'CredentialsProviderError' ? 'credentials' : 'connection';
    return new ObjectError(operation, { failure, detail, transient: failure === 'connection' });
  }
  const reason = name ?? '';
  const transient = isPassing(status) || passing.includes(reason);
  const detail = (message ?? '').trim().slice(0, 1000) || 'the answer has no message';
  const shown = expired.includes(reason) ? 401 : status;
  return new ObjectError(operation, { failure: 'status', status: shown, reason, detail, transient });
}

const words: BucketWords = {
  rights: { create: 's3:PutObject', get: 's3:GetObject', delete: 's3:DeleteObject', list: 's3:ListBucket' },
  grant: { create: 's3:PutObject and s3:PutObjectTagging', all: 'the policy of docs/storage.md' },
  credentials:
    'set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or run with an IAM role (IRSA, EKS Pod Identity). The library says',
  variable: 'WEBCAPTURE_S3_BUCKET',
};
