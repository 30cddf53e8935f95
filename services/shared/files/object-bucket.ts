import type { ByteRange, NewFile } from './file-store.ts';
import type { ObjectError } from './object-error.ts';
import type { BucketFile, ObjectDescription, ObjectResource } from './object-description.ts';
import type { ContentHashes } from './upload.ts';

/** Limits of a call with all its attempts. */
export interface ObjectLimits {
  /** Unix milliseconds. */
  readonly deadline: number;
  /** Ends the call earlier. */
  readonly signal?: AbortSignal;
}

/** The name of an object, without the prefix of all files, and optionally one generation of it. */
export interface ObjectRef {
  readonly name: string;
  readonly generation?: string;
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

export interface ObjectCopy {
  /** Name of the source, and the generation that it must have. */
  readonly source: string;
  readonly sourceGeneration: string;
  readonly destination: string;
  /** The generation that the destination must have; null if it must not exist. */
  readonly expected: string | null;
  /** Metadata of the copy. It replaces all metadata of the source. */
  readonly description: ObjectDescription;
}

/** A body that is being read. */
export interface OpenedObject {
  readonly parts: AsyncIterator<Uint8Array>;
  readonly first: Uint8Array;
  /** Closes the connection unless the body was read completely. */
  readonly end: () => void;
}

/** Terms of the bucket's provider, for messages to the operator when the check of the bucket fails. */
export interface BucketWords {
  /** The permission of an operation. */
  readonly rights: Readonly<Record<'create' | 'get' | 'delete' | 'list', string>>;
  /** The instruction what to grant to a service. */
  readonly grant: Readonly<Record<'create' | 'all', string>>;
  /** Where the service finds credentials. */
  readonly credentials: string;
  /** The variable with the name of the bucket. */
  readonly variable: string;
}

/** The calls of a bucket. All of them throw an ObjectError at the latest at their deadline. */
export interface ObjectBucket {
  readonly bucket: string;
  /** Prefix of the names of all files in the bucket, such as `captures/`. */
  readonly prefix: string;
  /** Time without traffic after which an attempt is aborted. */
  readonly silenceMs: number;
  /** Maximum delay before the second attempt. */
  readonly backoffMs: number;
  /** Whether requests have no credentials, as with an emulator. */
  readonly isAnonymous: boolean;
  readonly words: BucketWords;
  /** Checks the right to create an object. Creates no object if the bucket allows such a check. */
  tryCreate(name: string, limits: ObjectLimits): Promise<void>;
  /**
   * Uploads a file. The bucket refuses bytes that do not have the file's MD5. Returns the generation of the object. Returns null if the
   * object exists; an attempt of this call whose answer was lost may have created it. If this throws, the object either does not exist or
   * is complete.
   */
  create(creation: ObjectCreation, limits: ObjectLimits): Promise<string | null>;
  /** Returns the metadata of an object, or null if it does not exist. */
  get(name: string, limits: ObjectLimits): Promise<ObjectResource | null>;
  /** Returns the first bytes of an object, at most `length`, or null if it does not exist. */
  readHead(object: Required<ObjectRef>, length: number, limits: ObjectLimits): Promise<Buffer | null>;
  /**
   * Opens one generation of an object. Resolves when the first bytes arrive within the limits, or to null if that generation no longer
   * exists.
   */
  open(file: BucketFile, range: ByteRange, limits: ObjectLimits): Promise<OpenedObject | null>;
  /** Deletes an object, optionally only one generation. It is not an error if the object is missing. */
  remove(object: ObjectRef, limits: ObjectLimits): Promise<void>;
  /**
   * Copies an object within the bucket, without a transfer. Readers get either the old object or the new one. Returns null if there is no
   * source, or if the destination or the source has another generation. An attempt of this call whose answer was lost may have caused that.
   */
  copy(copy: ObjectCopy, limits: ObjectLimits): Promise<ObjectResource | null>;
  /** Returns a link to read an object without further credentials until `expiresAt` (Unix ms). */
  signLink(name: string, expiresAt: number): Promise<string>;
  /** Logs and counts a part of a read that failed and is requested again. */
  noteRetry(error: ObjectError): void;
  /** Closes idle connections. */
  close(): void;
}
