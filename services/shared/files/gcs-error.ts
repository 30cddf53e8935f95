/** Bucket operations. Each needs the permission `storage.objects.<operation>`, except testPermissions. */
export const gcsOperations = ['create', 'get', 'delete', 'testPermissions'] as const;

export type GcsOperation = (typeof gcsOperations)[number];

/**
 * Why a call failed. `status`: an error status of the bucket. `connection`: no response, or an incomplete one.
 * `checksum`: the received bytes differ from those of the file. `credentials`: none, or refused before the request.
 */
export type GcsFailure = 'status' | 'connection' | 'checksum' | 'credentials';

/** A file is readable to anyone who knows its name, so logs must not contain it; Google's messages name the object. */
const secretPart = /-[0-9a-f]{32}(?=\.[a-z])/g;

/** A failed bucket request; the message contains all known facts for the operator. */
export class GcsError extends Error {
  readonly operation: GcsOperation;
  readonly failure: GcsFailure;
  /** Status of the response. */
  readonly status: number | undefined;
  /** Google's reason, such as `backendError`. */
  readonly reason: string | undefined;
  /** Google's message without the secret part of the file name. */
  readonly detail: string;
  /** Whether a retry can succeed. */
  readonly transient: boolean;

  constructor(
    operation: GcsOperation,
    facts: { failure: GcsFailure; status?: number; reason?: string | undefined; detail: string; transient: boolean },
    options?: { cause?: unknown },
  ) {
    const detail = facts.detail.replace(secretPart, '-…');
    const answer = facts.status === undefined ? '' : ` (${[facts.status, facts.reason].join(' ').trim()})`;
    super(`the call objects.${operation} of the bucket failed${answer}: ${detail}`, options);
    this.name = 'GcsError';
    this.operation = operation;
    this.failure = facts.failure;
    this.status = facts.status;
    this.reason = facts.reason;
    this.detail = detail;
    this.transient = facts.transient;
  }
}

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
  readonly response?: { readonly data?: unknown; readonly body?: unknown };
}

/**
 * Converts any thrown value to a GcsError. Connection errors count as temporary. The thrown value is not kept, because it
 * contains the request, with names of files and perhaps credentials.
 */
export function toGcsError(operation: GcsOperation, thrown: unknown): GcsError {
  if (thrown instanceof GcsError) return thrown;
  const { code, status = code, message = String(thrown) } = thrown as LibraryError;
  if (typeof status === 'number' && status >= 300) return errorOfAnswer(operation, status, answerIn(thrown as object));
  const reason = message.replace(address, '');
  const detail = [typeof code === 'string' ? code : '', reason].filter(Boolean).join(', ') || String(thrown);
  return new GcsError(operation, { failure: 'connection', detail, transient: true });
}

/** The error details in a response. */
interface Complaint {
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
}

function errorOfAnswer(operation: GcsOperation, status: number, { reason, message }: Complaint): GcsError {
  const detail = (message ?? '').trim().slice(0, 1000) || 'the answer has no message';
  const isTooMuch = status === 429 || (status === 403 && tooMuch.includes(reason ?? ''));
  const transient = status === 408 || isTooMuch || status >= 500;
  return new GcsError(operation, { failure: 'status', status, reason, detail, transient });
}

/** Returns the error details of Google's JSON, wherever the library puts it, or any other text (of a proxy, or of a download). */
function answerIn({ message, errors, response }: LibraryError): Complaint {
  const body = response?.data ?? response?.body ?? errors?.[0];
  // For downloads, the message is the whole response, and the body of the response is a stream.
  const text = typeof body === 'string' ? body : message;
  const { error } = isAnswer(body) ? body : parseAnswer(text);
  if (error === undefined) return { reason: (errors?.[0] as Complaint | undefined)?.reason, message: text };
  return { reason: error.errors?.[0]?.reason, message: error.message };
}

/** The error format of Google's JSON API. */
interface Answer {
  readonly error?: Complaint & { readonly errors?: readonly Complaint[] };
}

const isAnswer = (body: unknown): body is Answer => typeof body === 'object' && body !== null && 'error' in body;

function parseAnswer(text: string | undefined): Answer {
  try {
    const body: unknown = JSON.parse(text ?? '');
    return isAnswer(body) ? body : {};
  } catch {
    return {};
  }
}

/** Returns the missing permission that a response names. */
export function deniedPermission({ detail }: GcsError): string | undefined {
  return /\bstorage\.[a-z]+\.[a-zA-Z]+\b/.exec(detail)?.[0];
}

/** Whether the bucket is missing, not an object: both are `404 notFound`, and for reads only the text differs. */
export function isBucketMissing({ operation, status, detail }: GcsError): boolean {
  return status === 404 && (operation === 'create' || /bucket does not exist/i.test(detail));
}

/** Whether an object is missing, but not its bucket. */
export const isObjectMissing = (error: GcsError) => error.status === 404 && !isBucketMissing(error);

/**
 * Returns whether a refused upload means that the object exists: overwriting needs the right to delete, and without it
 * Cloud Storage may answer so instead of with 412.
 */
export const isOverwriteRefused = (error: GcsError) =>
  error.operation === 'create' && error.status === 403 && deniedPermission(error) === 'storage.objects.delete';

/** Whether a refusal may mean that the object does not exist, by Google's message. Downloads give no reason. */
export function mayBeMissing({ status, reason = 'forbidden', detail }: GcsError): boolean {
  return status === 403 && reason === 'forbidden' && detail.includes('(or it may not exist)');
}
