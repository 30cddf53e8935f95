import { DeadlineError } from '../runtime/deadline.ts';

/** Bucket operations. Each one but testPermissions needs the permission `storage.objects.<operation>`. */
export const objectOperations = ['create', 'get', 'delete', 'testPermissions'] as const;

export type ObjectOperation = (typeof objectOperations)[number];

/**
 * Why a call failed. `status`: the bucket answered with an error status. `connection`: there was no response, or an incomplete one.
 * `checksum`: the received bytes differ from those of the file. `credentials`: there were none, or they were refused before the request.
 */
export type ObjectFailure = 'status' | 'connection' | 'checksum' | 'credentials';

interface ObjectErrorFacts {
  readonly failure: ObjectFailure;
  /** Status of the response. */
  readonly status?: number | undefined;
  /** The bucket's reason, such as `backendError` or `SlowDown`. */
  readonly reason?: string | undefined;
  /** The bucket's message. */
  readonly detail: string;
  /** Whether a retry can succeed. */
  readonly transient: boolean;
}

/**
 * The secret part of a file name. A file can be read by anyone who knows its name, so logs must not contain it. Buckets name the object in
 * their messages.
 */
const secretPart = /-[0-9a-f]{32}(?=\.[a-z])/g;

/**
 * Reasons that mean a missing permission. Downloads of Cloud Storage give no reason, and a response to a HEAD request of S3 has no body for
 * one.
 */
const forbidden = ['forbidden', 'AccessDenied', 'Forbidden', 'UnknownError', '403'];

/** A failed bucket request; the message contains all known facts for the operator. */
export class ObjectError extends Error implements ObjectErrorFacts {
  readonly operation: ObjectOperation;
  readonly failure: ObjectFailure;
  readonly status: number | undefined;
  readonly reason: string | undefined;
  /** The bucket's message without the secret part of the file name. */
  readonly detail: string;
  readonly transient: boolean;

  constructor(operation: ObjectOperation, facts: ObjectErrorFacts, options?: { cause?: unknown }) {
    const { failure, status, reason, transient } = facts;
    const detail = facts.detail.replace(secretPart, '-…');
    const answer = status === undefined ? '' : ` (${[status, reason].join(' ').trim()})`;
    super(`the call objects.${operation} of the bucket failed${answer}: ${detail}`, options);
    this.name = 'ObjectError';
    this.operation = operation;
    this.failure = failure;
    this.status = status;
    this.reason = reason;
    this.detail = detail;
    this.transient = transient;
  }

  /** Whether the object is missing. (A missing bucket is a `404 notFound`, too; for reads only the text differs.) */
  get isObjectMissing(): boolean {
    return this.status === 404 && !this.isBucketMissing;
  }

  get isBucketMissing(): boolean {
    return this.status === 404 && (this.operation === 'create' || /bucket does not exist/i.test(this.detail));
  }

  /** Whether a permission is missing. It may be the permission to learn that the object does not exist. */
  get isForbidden(): boolean {
    return this.status === 403 && (this.reason === undefined || forbidden.includes(this.reason));
  }

  /** The missing permission that the bucket's message names. */
  get deniedPermission(): string | undefined {
    return /\b(?:storage\.[a-z]+\.|s3:)[a-zA-Z]+\b/.exec(this.detail)?.[0];
  }

  /** Whether an upload was refused because the object exists or has another generation. */
  get isConflict(): boolean {
    // Overwriting needs the right to delete. Without that right, Cloud Storage may answer with this error instead of with 412.
    const isOverwriteRefused = this.status === 403 && this.deniedPermission === 'storage.objects.delete';
    return this.status === 412 || (this.operation === 'create' && isOverwriteRefused);
  }
}

/** Returns the error for a response that is incomplete, or does not come from the bucket. */
export const brokenAnswer = (operation: ObjectOperation, detail: string) =>
  new ObjectError(operation, { failure: 'connection', detail, transient: true });

/** Whether a request that was answered with this status may succeed later. */
export const isPassing = (status: number) => status === 408 || status === 429 || status >= 500;

/** Converts an error of getting a token: there are no credentials, or the source of tokens fails. */
export function credentialsError(operation: ObjectOperation, thrown: unknown): ObjectError {
  const { status, code, message, response } = thrown as {
    readonly status?: unknown;
    readonly code?: unknown;
    readonly message?: string;
    readonly response?: { readonly status?: unknown };
  };
  const answered = status ?? response?.status;
  const isBroken = /^(?:E(?!NOENT)[A-Z]+|UND_ERR_.*)$/.test(String(code));
  const transient = thrown instanceof DeadlineError || (typeof answered === 'number' ? isPassing(answered) : isBroken);
  return new ObjectError(operation, { failure: 'credentials', detail: String(message), transient }, { cause: thrown });
}
