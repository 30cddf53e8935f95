import { localDeadline, withDeadline } from '../runtime/deadline.ts';
import { toServiceError } from '../runtime/errors.ts';
import { isStoredName, uuidOfFileName, withoutSuffix } from './file-name.ts';
import {
  type AcceptedFile,
  type ByteRange,
  type CallLimits,
  type ExpectedUpload,
  type FileCopy,
  type FileStore,
  type NewFile,
  type StoredFile,
  type Upload,
} from './file-store.ts';
import type { ObjectBucket, ObjectLimits } from './object-bucket.ts';
import { readObject } from './bucket-read.ts';
import {
  type Described,
  describeObject,
  fileOfObject,
  type BucketFile,
  type ObjectResource,
  verifyObject,
} from './object-description.ts';
import { untilPlaced } from './until-placed.ts';
import { hashesOf, signatureBytes, UploadRejectedError, verifyClaim, verifySignature } from './upload.ts';

/** Default time limits of retries. */
const writeTimeoutMs = 30_000;
const readTimeoutMs = 15_000;

/** Maximum lifetime of V4 links: seven days. */
const maxLinkMs = 7 * 86_400_000;

/** Stores files as objects of a bucket, under a prefix. */
export class BucketStore implements FileStore {
  readonly bucket: ObjectBucket;
  readonly #now: () => number;
  /** The value is false, because the bucket provides the hashes of its objects. */
  readonly readsUploads = false;

  /** @param now Unix milliseconds */
  constructor(bucket: ObjectBucket, now: () => number = Date.now) {
    this.bucket = bucket;
    this.#now = now;
  }

  create(file: NewFile, { signal }: Pick<ObjectLimits, 'signal'> = {}): Promise<StoredFile> {
    return orStorageFailed(async () => {
      const limits = this.#limitsOf({ ...file, signal }, writeTimeoutMs);
      const { object: name } = file;
      const hashes = hashesOf(file.bytes);
      const write = async () => {
        const created = await this.bucket.create({ file, object: name, hashes, now: this.#now() }, limits);
        // If the object was not created, it exists because of an attempt whose answer was lost, or of another process. It may also have
        // been removed meanwhile, or be expired but not removed yet.
        const object = await this.#get(name, limits);
        const existing = created === null ? this.#fileOf(object) : this.#described(object);
        if (object !== null && existing === null) await this.#deleteSource({ ...object, object: name }, limits);
        return existing;
      };
      return untilPlaced(write, () => Date.now() >= limits.deadline, signal);
    });
  }

  accept(upload: Upload, expected: ExpectedUpload, limits: CallLimits = {}): Promise<AcceptedFile> {
    return orStorageFailed(async () => {
      verifyClaim(upload, expected);
      const source = sourceOf(upload);
      if (source === null || withoutSuffix(source.object) !== expected.object) {
        throw new UploadRejectedError('foreign', 'it is not the object that was asked for');
      }
      const within = this.#limitsOf(limits, writeTimeoutMs);
      return untilPlaced(
        () => this.#tryAccept(upload, source, expected, within),
        () => Date.now() >= within.deadline,
        within.signal,
      );
    });
  }

  discard(name: string, upload: Upload, limits: CallLimits = {}): Promise<void> {
    return orStorageFailed(async () => {
      const source = sourceOf(upload);
      if (source === null || source.object === name || uuidOfFileName(source.object) !== uuidOfFileName(name)) return;
      await this.#deleteSource(source, this.#limitsOf(limits, writeTimeoutMs));
    });
  }

  stat(name: string, limits: CallLimits = {}): Promise<StoredFile | null> {
    return orStorageFailed(async () => {
      return this.#fileOf(await this.#get(name, this.#limitsOf(limits, readTimeoutMs)));
    });
  }

  async *read(file: StoredFile, range?: ByteRange, limits?: CallLimits): AsyncIterable<Uint8Array> {
    try {
      yield* readObject(this.bucket, file as BucketFile, { range, ...limits });
    } catch (error) {
      throw toServiceError(error, 'STORAGE_FAILED');
    }
  }

  copy(name: string, { name: copyName, account }: FileCopy, limits: CallLimits = {}): Promise<StoredFile | null> {
    return orStorageFailed(async () => {
      const within = this.#limitsOf(limits, writeTimeoutMs);
      const attempt = async () => {
        const existing = this.#fileOf(await this.#get(copyName, within));
        const source = existing === null ? this.#fileOf(await this.#get(name, within)) : null;
        if (source === null) return { file: existing };
        const described = { ...source, name: copyName, account, cacheSeconds: undefined };
        const file = await this.#copy({ object: name, generation: source.generation }, described, null, within);
        return file === null ? null : { file };
      };
      return (await untilPlaced(attempt, () => Date.now() >= within.deadline, within.signal)).file;
    });
  }

  remove(name: string, limits: CallLimits = {}): Promise<void> {
    return orStorageFailed(() => this.bucket.remove({ name }, this.#limitsOf(limits, writeTimeoutMs)));
  }

  /**
   * Returns a V4 link that opens the file without further credentials. It is valid until `expiresAt` (Unix ms), but at most until the file
   * expires, or for seven days. Type, disposition and Cache-Control are those of the object. With a key file, signing is local. Without
   * one, it is a request to IAM, so links should be reused.
   */
  signedUrl(file: StoredFile, { expiresAt }: { readonly expiresAt: number }): Promise<string> {
    return orStorageFailed(() => {
      if (this.bucket.isAnonymous) throw new Error('an endpoint without credentials cannot sign');
      const until = Math.min(expiresAt, file.expiresAt, Date.now() + maxLinkMs);
      const link = this.bucket.signLink(file.name, until);
      return withDeadline(link, readTimeoutMs, 'signing a link');
    });
  }

  /** Closes idle connections. */
  close(): void {
    this.bucket.close();
  }

  /** Verifies an upload and puts it in place. Returns null if another file has been placed meanwhile. */
  async #tryAccept(
    upload: Upload,
    source: UploadSource,
    expected: ExpectedUpload,
    limits: ObjectLimits,
  ): Promise<AcceptedFile | null> {
    const { name, isRefresh, expiresAt, cacheSeconds } = expected;
    const isInPlace = source.object === name;
    const [object, signature, placed] = await Promise.all([
      this.#get(source.object, limits),
      this.#signatureOf(source, limits),
      isInPlace ? null : this.#get(name, limits),
    ]);
    const present = this.#fileOf(placed);
    // An earlier call has put the upload in place.
    if (present?.upload === upload.object) return { file: present };
    if (object === null || signature === null || object.generation !== source.generation) {
      // A concurrent call may have put it in place, and removed the source, after the file was read.
      const file = isInPlace ? null : this.#fileOf(await this.#get(name, limits));
      if (file?.upload === upload.object) return { file };
      throw new UploadRejectedError('missing', 'the object is not there');
    }
    verifyObject(object, upload, expected);
    verifySignature(upload, signature);
    const file = this.#described(object);
    if (file === null) throw new UploadRejectedError('foreign', 'the object is not described as a file');
    if (isInPlace) return { file };

    const kept = { ...file, name, account: expected.account, expiresAt, cacheSeconds };
    // Another delivery of the job may have created this object in place, without verification.
    if (!isRefresh && placed !== null && present !== null && (await this.#isSound(placed, present, expected, limits))) {
      return { file: present };
    }
    const replaced = await this.#copy(source, kept, placed?.generation ?? null, limits, upload);
    if (replaced === null) return null;
    // If this fails, `discard` removes the source.
    await this.#deleteSource(source, limits).catch(() => undefined);
    return { file: replaced };
  }

  /** Copies an object to the name of a file. Returns null if that name has another generation than expected. */
  async #copy(
    { object, generation }: UploadSource,
    file: Described,
    expected: string | null,
    limits: ObjectLimits,
    upload?: Upload,
  ): Promise<BucketFile | null> {
    const description = describeObject(file, this.#now(), upload?.object);
    const copy = { source: object, sourceGeneration: generation, destination: file.name, expected, description };
    return this.#described(await this.bucket.copy(copy, limits));
  }

  /** Whether an object that another delivery created in place matches the request. */
  async #isSound(
    object: ObjectResource,
    file: BucketFile,
    expected: ExpectedUpload,
    limits: ObjectLimits,
  ): Promise<boolean> {
    try {
      if (file.upload === null) verifyObject(object, file, expected);
      const signature = await this.#signatureOf({ object: file.name, generation: file.generation }, limits);
      if (signature === null) return false;
      verifySignature(file, signature);
      return true;
    } catch (error) {
      if (error instanceof UploadRejectedError) return false;
      throw error;
    }
  }

  /** Returns the first bytes of an object, or null if it does not exist. */
  #signatureOf({ object, generation }: UploadSource, limits: ObjectLimits): Promise<Buffer | null> {
    return this.bucket.readHead({ name: object, generation }, signatureBytes, limits);
  }

  #deleteSource({ object, generation }: UploadSource, limits: ObjectLimits): Promise<void> {
    return this.bucket.remove({ name: object, generation }, limits);
  }

  /** Returns the file of an object. Returns null if the object is missing or does not belong to this service. */
  #described(object: ObjectResource | null): BucketFile | null {
    return object === null ? null : fileOfObject(this.bucket.prefix, object);
  }

  /** Returns the file of an object. Returns null if it is missing or has expired. */
  #fileOf(object: ObjectResource | null): BucketFile | null {
    const file = this.#described(object);
    return file === null || file.expiresAt <= this.#now() ? null : file;
  }

  /** Converts the limits of a call for the client, which uses the clock of this process. */
  #limitsOf({ deadline, signal }: CallLimits, timeoutMs: number): ObjectLimits {
    const now = this.#now();
    return { deadline: localDeadline(deadline ?? now + timeoutMs, now), ...(signal === undefined ? {} : { signal }) };
  }

  #get(name: string, limits: ObjectLimits): Promise<ObjectResource | null> {
    return this.bucket.get(name, limits);
  }
}

/** An object that a renderer created, named without the prefix of all files. */
interface UploadSource {
  readonly object: string;
  readonly generation: string;
}

/** Parses the location of an upload. Returns null if it is not a name of this service. */
function sourceOf({ object: text }: Upload): UploadSource | null {
  const [, generation, object] = /^([0-9a-f-]{1,64})\/([^/]+)$/.exec(text) ?? [];
  if (generation === undefined || object === undefined || !isStoredName(withoutSuffix(object))) return null;
  return { generation, object };
}

async function orStorageFailed<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw toServiceError(error, 'STORAGE_FAILED');
  }
}
