/** What is asked of a bucket; the permission that it needs is `storage.objects.<operation>`, or none. */
export const gcsOperations = ['create', 'get', 'delete', 'list', 'testPermissions'] as const;

export type GcsOperation = (typeof gcsOperations)[number];

/**
 * Why a call did not come to its end. `status`: the bucket answered so. `connection`: no (whole) answer. `checksum`:
 * the bytes that came are not those of the file. `credentials`: none, or refused before the bucket was asked.
 */
export type GcsFailure = 'status' | 'connection' | 'checksum' | 'credentials';

/** Whoever knows the name of a file can read it, so logs must not tell it; Google's messages name the object. */
const secretPart = /-[0-9a-f]{32}(?=\.[a-z])/g;

/** A call of the bucket that failed; the message tells the operator all that is known. */
export class GcsError extends Error {
  readonly operation: GcsOperation;
  readonly failure: GcsFailure;
  /** Of the answer. */
  readonly status: number | undefined;
  /** Google's word for it, `backendError`. */
  readonly reason: string | undefined;
  /** What Google said, but for the part of a file's name that nobody can guess. */
  readonly detail: string;
  /** Whether the same call can succeed a moment later. */
  readonly transient: boolean;

  constructor(
    operation: GcsOperation,
    facts: { failure: GcsFailure; status?: number; reason?: string | undefined; detail: string; transient: boolean },
    options?: { cause?: unknown },
  ) {
    const detail = facts.detail.replace(secretPart, '-…');
    const answer = facts.status === undefined ? '' : ` (${[facts.status, facts.reason].join(' ').trim()})`;
    super(`the bucket did not do objects.${operation}${answer}: ${detail}`, options);
    this.name = 'GcsError';
    this.operation = operation;
    this.failure = facts.failure;
    this.status = facts.status;
    this.reason = facts.reason;
    this.detail = detail;
    this.transient = facts.transient;
  }
}

/** Reasons of a 403 that say what a 429 says. */
const tooMuch = ['rateLimitExceeded', 'userRateLimitExceeded', 'quotaExceeded'];

/** The error that an answer tells of: Google's JSON, or any other text (of a proxy, of a download). */
export function errorOfAnswer(operation: GcsOperation, status: number, text: string): GcsError {
  const { reason, message } = parseBody(text);
  const detail = (message ?? text.trim().slice(0, 300)) || 'no more was said';
  const isTooMuch = status === 429 || (status === 403 && tooMuch.includes(reason ?? ''));
  const transient = status === 408 || isTooMuch || status >= 500;
  return new GcsError(operation, { failure: 'status', status, reason, detail, transient });
}

/** Anything thrown on the way to an answer. What broke a connection once need not do so again. */
export function toGcsError(operation: GcsOperation, thrown: unknown): GcsError {
  if (thrown instanceof GcsError) return thrown;
  const { code, message } = thrown as { code?: string; message?: string };
  const detail = [code, message].filter(Boolean).join(', ') || String(thrown);
  return new GcsError(operation, { failure: 'connection', detail, transient: true }, { cause: thrown });
}

/** The permission that an answer says is missing: a word of the message, for people to read. */
export function deniedPermission({ detail }: GcsError): string | undefined {
  return /\bstorage\.[a-z]+\.[a-zA-Z]+\b/.exec(detail)?.[0];
}

/** Whether the bucket is not there, rather than an object: both are `404 notFound`, and of a reading only the words tell. */
export function isBucketMissing({ operation, status, detail }: GcsError): boolean {
  return status === 404 && (['create', 'list'].includes(operation) || /bucket does not exist/i.test(detail));
}

/** Whether an object, though not its bucket, is not there. */
export const isObjectMissing = (error: GcsError) => error.status === 404 && !isBucketMissing(error);

/**
 * Whether a refused upload tells that there is an object of the name: writing over one needs the right to delete, and to
 * whoever lacks that Cloud Storage may answer so in place of 412.
 */
export const isOverwriteRefused = (error: GcsError) =>
  error.operation === 'create' && error.status === 403 && deniedPermission(error) === 'storage.objects.delete';

/** Whether a refusal may mean, by Google's own words, that the object is not there. Of downloads it tells no reason. */
export function mayBeMissing({ status, reason = 'forbidden', detail }: GcsError): boolean {
  return status === 403 && reason === 'forbidden' && detail.includes('(or it may not exist)');
}

function parseBody(text: string): { reason?: string | undefined; message?: string | undefined } {
  try {
    const { error } = JSON.parse(text) as {
      error?: { message?: string; errors?: readonly { reason?: string }[] };
    };
    return { reason: error?.errors?.[0]?.reason, message: error?.message };
  } catch {
    return {};
  }
}
