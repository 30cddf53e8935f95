import type { MimeType } from '../contract/formats.ts';

/** What is known of a file without its bytes. */
export interface StoredFile {
  readonly name: string;
  readonly contentType: MimeType;
  readonly size: number;
  /** A strong validator: equal bytes have equal tags. Without quotes. */
  readonly etag: string;
  /** Unix milliseconds. */
  readonly storedAt: number;
  readonly expiresAt: number;
  /** Pixels, as the capture's metadata tells them. */
  readonly width: number;
  readonly height: number;
  /**
   * For so many seconds caches may keep a copy without asking for a newer one: the file may be replaced. Absent: it
   * never is, and copies are good until it ends.
   */
  readonly cacheSeconds?: number;
}

export interface NewFile {
  readonly name: string;
  /** Whose capture it is of. */
  readonly account: string;
  readonly bytes: Buffer;
  readonly contentType: MimeType;
  readonly expiresAt: number;
  readonly width: number;
  readonly height: number;
  /** As in {@link StoredFile}. */
  readonly cacheSeconds?: number;
  /** Unix milliseconds: until when writing is tried again. By default 30 seconds from now. */
  readonly deadline?: number;
}

/** A file as a listing shows it, those that have expired among them. Times in Unix milliseconds. */
export interface ListedFile {
  /** As in {@link StoredFile}. What is no name of ours is not listed. */
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
  /** Unix milliseconds; by default some seconds from now. */
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
 * Where the files of captures are kept. Every call throws a ServiceError `STORAGE_FAILED` when the store does not do as
 * asked within its deadline. A file is whole or not there: half a file is never seen.
 */
export interface FileStore {
  /** Stores a file unless one of that name is there already; returns the one that is there afterwards. */
  create(file: NewFile): Promise<StoredFile>;
  /**
   * Stores a file in place of exactly the one that `previous` describes (as `stat`, `create` or `replace` returned it), at
   * once: whoever asks gets the old file or the new one. A reading of the old one that has got its first bytes comes to
   * its end, unless the file is replaced a second time, or its connection breaks, meanwhile. Null when `previous` has been
   * replaced, removed or has expired: then nothing is written.
   */
  replace(file: NewFile, previous: StoredFile): Promise<StoredFile | null>;
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
