import { DeadlineError } from '../runtime/deadline.ts';

/** Bucket operations. Each needs the permission `storage.objects.<operation>`, except testPermissions. */
export const gcsOperations = ['create', 'get', 'delete', 'testPermissions'] as const;

export type GcsOperation = (typeof gcsOperations)[number];

/**
 * Why a call failed. `status`: an error status of the bucket. `connection`: no response, or an incomplete one.
 * `checksum`: the received bytes differ from those of the file. `credentials`: none, or refused before the request.
 */
export type GcsFailure = 'status' | 'connection' | 'checksum' | 'credentials';

interface GcsFacts {
  readonly failure: GcsFailure;
  /** Status of the response. */
  readonly status?: number | undefined;
  /** Google's reason, such as `backendError`. */
  readonly reason?: string | undefined;
  /** Google's message. */
  readonly detail: string;
  /** Whether a retry can succeed. */
  readonly transient: boolean;
}

/** A file is readable to anyone who knows its name, so logs must not contain it; Google's messages name the object. */
const secretPart = /-[0-9a-f]{32}(?=\.[a-z])/g;

/** A failed bucket request; the message contains all known facts for the operator. */
export class GcsError extends Error implements GcsFacts {
  readonly operation: GcsOperation;
  readonly failure: GcsFailure;
  readonly status: number | undefined;
  readonly reason: string | undefined;
  /** Google's message without the secret part of the file name. */
  readonly detail: string;
  readonly transient: boolean;

  constructor(operation: GcsOperation, facts: GcsFacts, options?: { cause?: unknown }) {
    const { failure, status, reason, transient } = facts;
    const detail = facts.detail.replace(secretPart, '-…');
    const answer = status === undefined ? '' : ` (${[status, reason].join(' ').trim()})`;
    super(`the call objects.${operation} of the bucket failed${answer}: ${detail}`, options);
    this.name = 'GcsError';
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

  /** Whether a permission is missing; it may be the permission to learn that the object does not exist. */
  get isForbidden(): boolean {
    // Downloads give no reason.
    return this.status === 403 && (this.reason ?? 'forbidden') === 'forbidden';
  }

  /** The missing permission that Google's message names. */
  get deniedPermission(): string | undefined {
    return /\bstorage\.[a-z]+\.[a-zA-Z]+\b/.exec(this.detail)?.[0];
  }

  /** Whether an upload was refused because the object exists or has another generation. */
  get isConflict(): boolean {
    // Overwriting needs the right to delete, and without it Cloud Storage may answer so instead of with 412.
    const isOverwriteRefused = this.status === 403 && this.deniedPermission === 'storage.objects.delete';
    return this.status === 412 || (this.operation === 'create' && isOverwriteRefused);
  }
}

/** Returns the error for a response that is incomplete, or does not come from the bucket. */
export const brokenAnswer = (operation: GcsOperation, detail: string) =>
  new GcsError(operation, { failure: 'connection', detail, transient: true });

/** Whether a request that was answered with this status may succeed later. */
const isPassing = (status: number) => status === 408 || status === 429 || status >= 500;

/** Reasons of a 403 that mean the same as a 429. */
const tooMuch = ['rateLimitExceeded', 'userRateLimitExceeded', 'quotaExceeded'];

/** Prefixes of connection errors of the HTTP client; the log has separate fields for them. */
const address = /^(?:request to \S+ failed, reason|Invalid response body while trying to fetch \S+): /;

/** Errors of Google's library in their various forms: an ApiError, an error of gaxios, or of the connection. */
interface LibraryError {
  readonly code?: unknown;
  readonly status?: unknown;
  readonly message?: string;
  readonly errors?: readonly unknown[];
  readonly response?: { readonly status?: unknown; readonly data?: unknown; readonly body?: unknown };
}

/**
 * Converts any thrown value to a GcsError. Connection errors count as temporary. The thrown value is not kept, because it
 * contains the request, with names of files and perhaps credentials.
 */
export function toGcsError(operation: GcsOperation, thrown: unknown): GcsError {
  if (thrown instanceof GcsError) return thrown;
  const { code, status = code, message = String(thrown) } = thrown as LibraryError;
  if (typeof status === 'number' && status >= 300) {
    const answer = complaintIn(thrown as LibraryError);
    const detail = (answer.message ?? '').trim().slice(0, 1000) || 'the answer has no message';
    const transient = isPassing(status) || (status === 403 && tooMuch.includes(answer.reason ?? ''));
    return new GcsError(operation, { failure: 'status', status, reason: answer.reason, detail, transient });
  }
  const reason = message.replace(address, '');
  return brokenAnswer(operation, [typeof code === 'string' ? code : '', reason].filter(Boolean).join(', '));
}

/** Converts an error of getting a token: no credentials, or a source of tokens that fails. */
export function credentialsError(operation: GcsOperation, thrown: unknown): GcsError {
  const { status, code, message, response } = thrown as LibraryError;
  const answered = status ?? response?.status;
  const isBroken = /^(?:E(?!NOENT)[A-Z]+|UND_ERR_.*)$/.test(String(code));
  const transient = thrown instanceof DeadlineError || (typeof answered === 'number' ? isPassing(answered) : isBroken);
  return new GcsError(operation, { failure: 'credentials', detail: String(message), transient }, { cause: thrown });
}

/** The error details in a response. */
interface Complaint {
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
}

/** The error format of Google's JSON API. */
interface Answer {
  readonly error?: Complaint & { readonly errors?: readonly Complaint[] };
}

/** Returns the error details of Google's JSON, wherever the library puts it, or any other text (of a proxy, or of a download). */
function complaintIn({ message, errors, response }: LibraryError): Complaint {
  const body = response?.data ?? response?.body ?? errors?.[0];
  // For downloads, the message is the whole response, and the body of the response is a stream.
  const text = typeof body === 'string' ? body : message;
  const error = (body as Answer | undefined)?.error ?? parsed(text).error;
  if (error === undefined) return { reason: (errors?.[0] as Complaint | undefined)?.reason, message: text };
  return { reason: error.errors?.[0]?.reason, message: error.message };
}

function parsed(text: string | undefined): Answer {
  try {
    return (JSON.parse(text ?? '') as Answer | null) ?? {};
  } catch {
    return {};
  }
}
