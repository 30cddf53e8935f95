import { brokenAnswer, isPassing, ObjectError, type ObjectOperation } from './object-error.ts';

/** Reasons with which a 403 is a rate limit, as a 429 is. */
const tooMuch = ['rateLimitExceeded', 'userRateLimitExceeded', 'quotaExceeded'];

/** Prefixes of connection errors of the HTTP client. They are removed, because the log has separate fields for them. */
const address = /^(?:request to \S+ failed, reason|Invalid response body while trying to fetch \S+): /;

/** Errors of Google's library in their various forms: ApiErrors, errors of gaxios, and connection errors. */
interface LibraryError {
  readonly code?: unknown;
  readonly status?: unknown;
  readonly message?: string;
  readonly errors?: readonly unknown[];
  readonly response?: { readonly data?: unknown; readonly body?: unknown };
}

/**
 * Converts any thrown value to an ObjectError. Connection errors count as temporary. The thrown value is not kept, because it contains the
 * request, with names of files and perhaps credentials.
 */
export function toGcsError(operation: ObjectOperation, thrown: unknown): ObjectError {
  if (thrown instanceof ObjectError) return thrown;
  const { code, status = code, message = String(thrown) } = thrown as LibraryError;
  if (typeof status === 'number' && status >= 300) {
    const answer = complaintIn(thrown as LibraryError);
    const detail = (answer.message ?? '').trim().slice(0, 1000) || 'the answer has no message';
    const transient = isPassing(status) || (status === 403 && tooMuch.includes(answer.reason ?? ''));
    return new ObjectError(operation, { failure: 'status', status, reason: answer.reason, detail, transient });
  }
  const reason = message.replace(address, '');
  return brokenAnswer(operation, [typeof code === 'string' ? code : '', reason].filter(Boolean).join(', '));
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

/**
 * Returns the error details in Google's JSON, which the library puts into different places. Returns any other text, such as that of a proxy
 * or a download, unchanged.
 */
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
