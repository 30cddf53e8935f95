import type { StoredType } from '../api/formats.ts';
import { ServiceError } from '../runtime/errors.ts';
import type { Region } from '../runtime/regions.ts';

/** The file that was to be read has been removed, or another one is in its place: `stat` tells which. */
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

/** A file that is replaced between the look at it and the reading of it is looked at again, so often. */
const maxLooks = 3;

/** What comes of looking at a file and reading it; once more where it was replaced meanwhile. */
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
  /** Pixels, as the capture's metadata tells them; of what was extracted, those of the file that it stands beside. */
  readonly width: number;
  readonly height: number;
  /**
   * For so many seconds caches may keep a copy without asking for a newer one: the file may be replaced. Absent: it
   * never is, and copies are good until it ends.
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
 * What a renderer tells of a file that it created: JSON, which travels in its result. Nothing of it is to be believed
 * before {@link FileStore.accept} has verified it.
 */
export interface Upload {
  /** Where the file lies; the meaning is the store's own. */
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
   * Uploads a file. Nobody can read it before {@link FileStore.accept} has put it in place (in a bucket the first file of
   * a capture is created in its place). Both promises reject with a ServiceError `STORAGE_FAILED`, which is a
   * {@link StoreUnavailableError} when the file may be stored later.
   *
   * `sent`: nothing that is published on the same NATS connection from then on reaches the server before the file does.
   * `stored`: the file is there for good.
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
  /** {@link accept} reads what it verifies: whoever wants the bytes at once need not have them sent as well. */
  readonly readsUploads: boolean;
  /**
   * Stores a file of this service's own under the name of its object, unless one of that name is there already; returns
   * the one that is there afterwards.
   */
  create(file: NewFile): Promise<StoredFile>;
  /**
   * Verifies an upload and puts it in place under `expected.name`: whoever asks gets the file of before or the new one,
   * whole, never nothing. May be repeated.
   *
   * The first file of a capture stays where another delivery of its job has put one in place already: that one is
   * returned. A refresh replaces exactly the file that was looked at, or the newer one that has come meanwhile; where both
   * show the same picture the file in place stays (`isSame`). A reading of the file of before that has got its first
   * bytes comes to its end, unless the file is replaced a second time, or its connection breaks, meanwhile.
   *
   * What is not put in place stays where it is until {@link discard}: call that when the result is settled.
   *
   * @throws UploadRejectedError when the upload is not what was asked for
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
   * The bytes of exactly the file that `stat` described, in order, never mixed with those of another. Throws a
   * FileReplacedError when it has been removed or replaced since: whoever has had no byte yet asks `stat` again. (The
   * embedded store still reads a file that was replaced once; a bucket keeps no bytes of what was replaced.) `limits` are
   * those of all the reading; without them it takes as long as the reader does.
   */
  read(file: StoredFile, range?: ByteRange, limits?: CallLimits): AsyncIterable<Uint8Array>;
  /** Removes a file; one that is not there is no error. */
  remove(name: string, limits?: CallLimits): Promise<void>;
  /**
   * The files, at most `limit` at a time, in an order of the store's own; `after` is the `next` of the page before, null
   * for the first one. Every file that is there throughout is listed, one that comes or goes meanwhile perhaps, one that
   * is replaced perhaps twice. A page may be short, or even empty, before the last. Costs no reading of bytes.
   */
  list(after: string | null, limit: number): Promise<FilePage>;
}
