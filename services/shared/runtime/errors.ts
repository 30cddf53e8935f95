/**
 * Every error code that the service can answer with: its HTTP status, whether the same request can succeed when it is
 * simply sent again, and the sentence a client sees when nobody has a better one.
 */
export const errorTable = {
  VALIDATION_ERROR: { status: 400, retryable: false, message: 'The request is not valid.' },
  URL_BLOCKED: {
    status: 400,
    retryable: false,
    message: 'The address is refused by the egress policy of this service.',
  },
  UNAUTHORIZED: {
    status: 401,
    retryable: false,
    message: 'The API key is missing or unknown. Send it as "Authorization: Bearer <API_KEY>".',
  },
  API_KEY_EXPIRED: { status: 401, retryable: false, message: 'The API key has expired. Use or create another one.' },
  API_KEY_REVOKED: { status: 401, retryable: false, message: 'The API key was revoked. Use or create another one.' },
  QUOTA_EXCEEDED: { status: 402, retryable: false, message: 'The token quota of this month is used up.' },
  FORBIDDEN: { status: 403, retryable: false, message: 'The API key lacks the scope that this needs.' },
  NOT_FOUND: { status: 404, retryable: false, message: 'There is nothing at this address.' },
  CAPTURE_NOT_FOUND: { status: 404, retryable: false, message: 'This account has no capture of that uuid.' },
  CONFLICT: { status: 409, retryable: false, message: 'The state of the capture does not allow this.' },
  RATE_LIMIT_EXCEEDED: {
    status: 429,
    retryable: true,
    message: 'Too many requests. Wait for the seconds that Retry-After tells, then send it again.',
  },
  QUEUE_FULL: {
    status: 429,
    retryable: true,
    message: 'Too many captures are under way. Wait for the seconds that Retry-After tells, then send it again.',
  },
  NAVIGATION_FAILED: { status: 500, retryable: true, message: 'The page could not be opened.' },
  CAPTURE_TIMEOUT: { status: 500, retryable: true, message: 'The capture took longer than it may.' },
  CAPTURE_FAILED: { status: 500, retryable: true, message: 'The page was opened, but could not be captured.' },
  PAGE_TOO_LARGE: { status: 500, retryable: false, message: 'The page is larger than the format can hold.' },
  REGION_UNAVAILABLE: { status: 500, retryable: true, message: 'No renderer of the region is available.' },
  STORAGE_FAILED: { status: 500, retryable: true, message: 'The file could not be stored. Send the request again.' },
  INTERNAL_ERROR: { status: 500, retryable: true, message: 'Something went wrong here. Send the request again.' },
} as const satisfies Record<string, { status: number; retryable: boolean; message: string }>;

export type ErrorCode = keyof typeof errorTable;

export const errorCodes = Object.keys(errorTable) as ErrorCode[];

/**
 * An error with a public face. `message` is what the client reads; `cause` stays in the log.
 * Callers ask for `code`; nobody parses a message.
 */
export class ServiceError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message?: string, options?: { cause?: unknown }) {
    super(message ?? errorTable[code].message, options);
    this.name = 'ServiceError';
    this.code = code;
  }

  get status(): number {
    return errorTable[this.code].status;
  }

  get retryable(): boolean {
    return errorTable[this.code].retryable;
  }
}

/** Any thrown value as a {@link ServiceError}: one that already is passes through, the rest become `fallback`. */
export function toServiceError(thrown: unknown, fallback: ErrorCode = 'INTERNAL_ERROR'): ServiceError {
  return thrown instanceof ServiceError ? thrown : new ServiceError(fallback, undefined, { cause: thrown });
}
