import type { StoredType } from '../api/formats.ts';
import { ServiceError } from '../runtime/errors.ts';
import type { Region } from '../runtime/regions.ts';

/** The file to read was removed or replaced; `stat` shows which. */
export class FileReplacedError extends ServiceError<'STORAGE_FAILED'> {
  constructor(options?: { cause?: unknown }) {
    super(
      'STORAGE_FAILED',
      'The file was removed or replaced while it was being read. Send the request again.',
      options,
    );
    this.name = 'FileReplacedError';
  }
}

/** The store cannot be reached, or cannot take a file now: the same call may succeed later. */
export class StoreUnavailableError extends ServiceError<'STORAGE_FAILED'> {
  constructor(message?: string, options?: { cause?: unknown }) {
    super('STORAGE_FAILED', message, options);
    this.name = 'StoreUnavailableError';
  }
}

/** Maximum number of reads of a file that is replaced between `stat` and `read`. */
const maxLooks = 3;

/** Runs `read`, and repeats it when the file was replaced meanwhile. */
export async function lookAgain<T>(read: () => Promise<T>): Promise<T> {
  for (let look = 1; ; look += 1) {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof FileReplacedError) || look === maxLooks) throw error;
    }
  }
}

/** What is known of a file without its bytes. */
export interface StoredFile {
  readonly name: string;
  readonly contentType: StoredType;
  readonly size: number;
  /** A strong validator: equal bytes have equal tags. Without quotes. */
  readonly etag: string;
  /** Unix milliseconds. */
  readonly storedAt: number;
  readonly expiresAt: number;
  /** Pixels, as in the capture's metadata; for extracted parts, those of their file. */
  readonly width: number;
  readonly height: number;
  /**
   * Number of seconds for which caches may keep a copy without revalidation, because the file may be replaced. Absent:
   * it is never replaced, and copies stay valid until it expires.
   */
  readonly cacheSeconds?: number | undefined;
}

export interface NewFile {
  /**
   * The name of the object to create: that of the file itself where it is the first one of its capture, another name of
   * the same form where it is to replace a file.
   */
  readonly object: string;
  readonly region: Region;
  /** Whose capture it is of. */
  readonly account: string;
  readonly bytes: Buffer;
  readonly contentType: StoredType;
  readonly expiresAt: number;
  readonly width: number;
  readonly height: number;
  /** As in {@link StoredFile}. */
  readonly cacheSeconds?: number | undefined;
  /** Unix milliseconds: until when writing is tried again. By default 30 seconds from now. */
  readonly deadline?: number;
}

/**
 * A renderer's description of a file that it created: JSON inside its result. It must not be trusted before {@link
 * FileStore.accept} has verified it.
 */
export interface Upload {
  /** The location of the file; each store defines its meaning. */
  readonly object: string;
  readonly contentType: StoredType;
  readonly size: number;
  readonly etag: string;
  readonly width: number;
  readonly height: number;
  /** Unix milliseconds. */
  readonly expiresAt: number;
  readonly cacheSeconds?: number;
}

/** All that a renderer can do with files: create them. */
export interface FileUploader {
  /**
   * Uploads a file. It is not readable before {@link FileStore.accept} has put it in place (in a bucket, the first file of a capture is
   * created in place). Both promises reject with a ServiceError `STORAGE_FAILED`, or with a {@link StoreUnavailableError} when a later
   * attempt may succeed.
   *
   * `sent`: nothing that is published on the same NATS connection afterwards reaches the server before the file.
   * `stored`: the file is stored permanently.
   */
  upload(file: NewFile): { readonly sent: Promise<Upload>; readonly stored: Promise<Upload> };
}

/** What an upload must be to be put in place. */
export interface ExpectedUpload {
  /** Of the file. */
  readonly name: string;
  /** The name that the renderer was given for the object. */
  readonly object: string;
  readonly account: string;
  readonly region: Region;
  readonly contentType: StoredType;
  /** Unix milliseconds. The upload's may be up to ten minutes off. */
  readonly expiresAt: number;
  readonly cacheSeconds?: number | undefined;
  /** Whether it replaces the file that is there. */
  readonly isRefresh: boolean;
  /** By default 512 MiB. */
  readonly maxBytes?: number;
  /** The bytes are wanted where they are read to verify the upload. */
  readonly wantsBytes?: boolean;
}

export interface AcceptedFile {
  /** The file that is in place now. */
  readonly file: StoredFile;
  /** The refresh shows what the file in place shows, which has kept its bytes and its ETag. */
  readonly isSame: boolean;
  /** Those of `file`, where they were wanted and read; absent of a large file, and where another one is in place. */
  readonly bytes?: Buffer | undefined;
}

/** A file as a listing shows it, those that have expired among them. Times in Unix milliseconds. */
export interface ListedFile {
  /** As in {@link StoredFile}, or the name of an upload that was never put in place. What is no name of ours is not listed. */
  readonly name: string;
  readonly size: number;
  readonly storedAt: number;
  readonly expiresAt: number;
}

/** Some of the files, and where the rest begins. */
export interface FilePage {
  readonly files: readonly ListedFile[];
  /** To be handed to the next call; any process may do so, also much later. Null: that was all. */
  readonly next: string | null;
}

/** When a call is given up. */
export interface CallLimits {
  /** Unix milliseconds, by the clock that the store was given; by default some seconds from now. */
  readonly deadline?: number | undefined;
  /** Of a bucket: ends the call before. */
  readonly signal?: AbortSignal | undefined;
}

/** Bytes `start` to `end`, both included. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/**
 * Where the files of captures are kept, for trusted services. Every call throws a ServiceError `STORAGE_FAILED` when the
 * store does not do as asked within its deadline. A file is whole or not there: half a file is never seen.
 */
export interface FileStore {
  /** {@link accept} reads what it verifies, so a caller that needs the bytes gets them there. */
  readonly readsUploads: boolean;
  /**
   * Stores a file of this service's own under the name of its object, unless one of that name is there already; returns
   * the one that is there afterwards.
   */
  create(file: NewFile): Promise<StoredFile>;
  /**
   * Verifies an upload and puts it in place under `expected.name`: readers get the old file or the new one, complete, and never nothing.
   * Idempotent.
   *
   * The first file of a capture stays if another delivery of its job has already put one in place; that file is returned. A refresh
   * replaces exactly the file that was read, or a newer one that has appeared meanwhile; if both show the same picture, the file in place
   * stays (`isSame`). A reader of the old file that has received its first bytes can finish, unless the file is replaced a second time or
   * the connection breaks meanwhile.
   *
   * An upload that is not put in place stays until {@link discard}: call that when the result is settled.
   *
   * @throws UploadRejectedError when the upload does not match the request
   */
  accept(upload: Upload, expected: ExpectedUpload, limits?: CallLimits): Promise<AcceptedFile>;
  /**
   * Removes an upload, unless it is the file in place under `name`; one that is not there is no error. (In a bucket the
   * first file of a capture is created in its place: of a capture that is to have no file, `remove` the file.)
   */
  discard(name: string, upload: Upload, limits?: CallLimits): Promise<void>;
  /** Null when there is no such file, or no longer. */
  stat(name: string, limits?: CallLimits): Promise<StoredFile | null>;
  /**
   * Returns the bytes of exactly the file that `stat` described, in order, never mixed with another file's. Throws a
   * FileReplacedError when the file was removed or replaced since: a reader without any byte calls `stat` again. (The
   * embedded store can still read a file that was replaced once; a bucket keeps no replaced bytes.) `limits` apply to
   * the whole read; without them it takes as long as the reader does.
   */
  read(file: StoredFile, range?: ByteRange, limits?: CallLimits): AsyncIterable<Uint8Array>;
  /** Removes a file; one that is not there is no error. */
  remove(name: string, limits?: CallLimits): Promise<void>;
  /**
   * Lists at most `limit` files in the store's order; `after` is the `next` of the previous page, null for the first
   * page. Lists every file that exists throughout; a file that is created or removed meanwhile may be listed, and a
   * replaced one may be listed twice. A page before the last may be short or empty. Reads no file content.
   */
  list(after: string | null, limit: number): Promise<FilePage>;
}
