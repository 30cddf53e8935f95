import type { StoredType } from '../api/formats.ts';
import { ServiceError } from '../runtime/errors.ts';
import type { Region } from '../runtime/regions.ts';

/** Thrown if the file to read was removed or replaced. `stat` shows which. */
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

/** Thrown if the store is unavailable, or cannot accept a file now. The same call may succeed later. */
export class StoreUnavailableError extends ServiceError<'STORAGE_FAILED'> {
  constructor(message?: string, options?: { cause?: unknown }) {
    super('STORAGE_FAILED', message, options);
    this.name = 'StoreUnavailableError';
  }
}

/** Maximum number of reads of a file that is replaced between `stat` and `read`. */
const maxLooks = 3;

/** Runs `read`, and repeats it if the file was replaced meanwhile. */
export async function retryIfReplaced<T>(read: () => Promise<T>): Promise<T> {
  for (let look = 1; ; look += 1) {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof FileReplacedError) || look === maxLooks) throw error;
    }
  }
}

/** Where a copy of a file is stored. */
export interface FileCopy extends Pick<NewFile, 'region' | 'account'> {
  readonly name: string;
}

/** Metadata of a file. */
export interface StoredFile {
  readonly name: string;
  readonly contentType: StoredType;
  readonly size: number;
  /** A strong validator without quotes. Equal bytes have equal tags. */
  readonly etag: string;
  /** Unix milliseconds. */
  readonly storedAt: number;
  readonly expiresAt: number;
  /** Width in pixels, as in the capture's metadata. Extracted parts have the width of their file. */
  readonly width: number;
  readonly height: number;
  /**
   * Number of seconds for which caches may keep a copy without revalidation, because the file may be replaced. Absent if the file is never
   * replaced; copies are then valid until it expires.
   */
  readonly cacheSeconds?: number | undefined;
}

export interface NewFile {
  /**
   * Name of the object to create. For the first file of a capture, it is the name of the file. For a file that replaces it, it is another
   * name of the same form.
   */
  readonly object: string;
  readonly region: Region;
  /** Account of the capture. */
  readonly account: string;
  readonly bytes: Buffer;
  readonly contentType: StoredType;
  readonly expiresAt: number;
  readonly width: number;
  readonly height: number;
  /** As in {@link StoredFile}. */
  readonly cacheSeconds?: number | undefined;
  /** Deadline of all attempts in Unix milliseconds. By default 30 seconds from now. */
  readonly deadline?: number;
}

/**
 * A renderer's description of a file that it created, which is a part of the JSON of its result. It must not be trusted before {@link
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

/** The operations of a renderer, which can only create files. */
export interface FileUploader {
  /**
   * Uploads a file. The file cannot be read before {@link FileStore.accept} has put it in place. (In a bucket, the first file of a capture
   * is created in place.)
   *
   * `sent` resolves when no message that is published later on the same NATS connection can overtake the file. `stored` resolves when the
   * file is stored permanently. Both promises reject with a ServiceError `STORAGE_FAILED`, or with a {@link StoreUnavailableError} if a
   * later attempt may succeed.
   */
  upload(file: NewFile): { readonly sent: Promise<Upload>; readonly stored: Promise<Upload> };
}

/** Properties that an upload must have to be accepted. */
export interface ExpectedUpload {
  /** Name of the file. */
  readonly name: string;
  /** Object name in the job of the renderer. */
  readonly object: string;
  readonly account: string;
  readonly region: Region;
  readonly contentType: StoredType;
  /** Required expiry in Unix milliseconds. The expiry of the upload may differ by up to ten minutes. */
  readonly expiresAt: number;
  readonly cacheSeconds?: number | undefined;
  /** Whether the upload replaces the current file. */
  readonly isRefresh: boolean;
  /** Default: 512 MiB. */
  readonly maxBytes?: number;
  /** Whether to return the bytes if the store reads them to verify the upload. */
  readonly wantsBytes?: boolean;
}

export interface AcceptedFile {
  /** The file that is now in place. */
  readonly file: StoredFile;
  /** Content of `file` if it was requested and read. Absent if the file is large, or if `file` is not the upload. */
  readonly bytes?: Buffer | undefined;
}

/** Limits of a call. */
export interface CallLimits {
  /** Unix milliseconds, by the clock of the store; by default some seconds from now. */
  readonly deadline?: number | undefined;
  /** Aborts a call of a bucket before its deadline. */
  readonly signal?: AbortSignal | undefined;
}

/** Bytes from `start` to `end`, both inclusive. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/**
 * Stores the files of captures, for trusted services. Every call throws a ServiceError `STORAGE_FAILED` if the store does
 * not complete it before its deadline. Incomplete files are never visible.
 */
export interface FileStore {
  /** Whether {@link accept} reads the upload to verify it, and can return its bytes. */
  readonly readsUploads: boolean;
  /**
   * Stores a file of this service under the name of its object, unless a file of that name exists. Returns the file that is
   * then stored.
   */
  create(file: NewFile): Promise<StoredFile>;
  /**
   * Verifies an upload and puts it in place under `expected.name`. Readers get the complete old file or the complete new one. Idempotent.
   *
   * If another delivery of the job has already put the first file of a capture in place, that file stays and is returned. A refresh
   * replaces exactly the file that was read, or a newer one that has appeared meanwhile. A reader of the old file that has received its
   * first bytes can finish, unless the file is replaced a second time or the connection breaks meanwhile.
   *
   * An upload that is not put in place stays until {@link discard} is called. Call that method when the result is settled.
   *
   * @throws UploadRejectedError if the upload does not match the request
   */
  accept(upload: Upload, expected: ExpectedUpload, limits?: CallLimits): Promise<AcceptedFile>;
  /**
   * Removes an upload, unless it is the file in place under `name`. It is not an error if the upload is missing. (In a bucket, the first
   * file of a capture is created in place; to remove it, use `remove`.)
   */
  discard(name: string, upload: Upload, limits?: CallLimits): Promise<void>;
  /** Returns null if there is no such file. */
  stat(name: string, limits?: CallLimits): Promise<StoredFile | null>;
  /**
   * Returns the bytes of exactly the file that `stat` described, in order, never mixed with those of another file. Throws a
   * FileReplacedError if the file was removed or replaced since; a reader that has no byte yet calls `stat` again. (The embedded store can
   * still read a file that was replaced once; a bucket keeps no replaced bytes.) `limits` apply to the whole read. Without them, the reader
   * determines how long it takes.
   */
  read(file: StoredFile, range?: ByteRange, limits?: CallLimits): AsyncIterable<Uint8Array>;
  /**
   * Copies a file to another name, unless a file of that name exists. The copy expires with the file and is never replaced. Returns the
   * file that is then stored under the other name. Returns null if there is no file to copy.
   */
  copy(name: string, copy: FileCopy, limits?: CallLimits): Promise<StoredFile | null>;
  /** Removes a file. It is not an error if the file is missing. */
  remove(name: string, limits?: CallLimits): Promise<void>;
}
