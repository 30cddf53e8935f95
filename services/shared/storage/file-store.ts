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
  readonly bytes: Buffer;
  readonly contentType: MimeType;
  readonly expiresAt: number;
  readonly width: number;
  readonly height: number;
  /** As in {@link StoredFile}. */
  readonly cacheSeconds?: number;
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
   * once: whoever asks gets the old file or the new one. A reading of the old one that has begun comes to its end, unless
   * the file is replaced a second time meanwhile. Null when `previous` has been replaced, removed or has expired: then
   * nothing is written.
   */
  replace(file: NewFile, previous: StoredFile): Promise<StoredFile | null>;
  /** Null when there is no such file, or no longer. */
  stat(name: string): Promise<StoredFile | null>;
  /**
   * The bytes of exactly the file that `stat` described, in order, never mixed with those of another; fails when it has
   * been removed since, or replaced more than once.
   */
  read(file: StoredFile, range?: ByteRange): AsyncIterable<Uint8Array>;
  /** Removes a file; one that is not there is no error. */
  remove(name: string): Promise<void>;
}
