/** Who is responsible for the end of a capture. Only `service` counts for status, objectives and alerts. */
export const failureCauses = ['client', 'page', 'service'] as const;

/**
 * - `client`: the request asked for the failure (`failOn`, `required`, a selector that does not exist), is invalid, or exceeds the
 *   limits of its account.
 * - `page`: the site cannot be reached, answers too late, or sends what cannot be captured; its page crashes or blocks the browser.
 * - `service`: this service failed: a browser was lost, a file could not be stored, a queue is full, or one of its steps took too long.
 */
export type FailureCause = (typeof failureCauses)[number];

/**
 * Every error code that the service can answer with: its HTTP status, whether the same request can succeed when it is sent again, the default
 * message, and the cause. If a code has several causes, the code that throws the error must state one.
 */
export const errorTable = {
  VALIDATION_ERROR: { status: 400, retryable: false, cause: 'client', message: 'The request is not valid.' },
  URL_BLOCKED: {
    status: 400,
    retryable: false,
    cause: 'client',
    message: 'The address is refused by the egress policy of this service.',
  },
  SESSION_NOT_FOUND: {
    status: 400,
    retryable: false,
    cause: 'client',
    message: 'This account has no session of that id, or it has expired. Log in again with POST /sessions.',
  },
  UNAUTHORIZED: {
    status: 401,
    retryable: false,
    cause: 'client',
    message: 'The API key is missing or unknown. Send it as "Authorization: Bearer <API_KEY>".',
  },
  API_KEY_EXPIRED: {
    status: 401,
    retryable: false,
    cause: 'client',
    message: 'The API key has expired. Use or create another one.',
  },
  API_KEY_REVOKED: {
    status: 401,
    retryable: false,
    cause: 'client',
    message: 'The API key was revoked. Use or create another one.',
  },
  QUOTA_EXCEEDED: {
    status: 402,
    retryable: false,
    cause: 'client',
    message: 'The token quota of this month is used up.',
  },
  FORBIDDEN: {
    status: 403,
    retryable: false,
    cause: 'client',
    message: 'The API key lacks the scope that this needs.',
  },
  NOT_FOUND: { status: 404, retryable: false, cause: 'client', message: 'There is nothing at this address.' },
  CAPTURE_NOT_FOUND: {
    status: 404,
    retryable: false,
    cause: 'client',
    message: 'This account has no capture of that uuid.',
  },
  CONFLICT: {
    status: 409,
    retryable: false,
    cause: 'client',
    message: 'The state of the capture does not allow this.',
  },
  RATE_LIMIT_EXCEEDED: {
    status: 429,
    retryable: true,
    cause: 'client',
    message: 'Too many requests. Retry after the number of seconds in the Retry-After header.',
  },
  QUEUE_FULL: {
    status: 429,
    retryable: true,
    cause: ['client', 'service'],
    message: 'Too many captures are under way. Retry after the number of seconds in the Retry-After header.',
  },
  NAVIGATION_FAILED: { status: 500, retryable: true, cause: 'page', message: 'The page could not be opened.' },
  CAPTURE_TIMEOUT: {
    status: 500,
    retryable: true,
    cause: ['page', 'service'],
    message: 'The capture timed out.',
  },
  CAPTURE_FAILED: {
    status: 500,
    retryable: true,
    cause: failureCauses,
    message: 'The page was opened, but could not be captured.',
  },
  PAGE_TOO_LARGE: {
    status: 500,
    retryable: false,
    cause: 'page',
    message: 'The page is larger than the format can hold.',
  },
  REGION_UNAVAILABLE: {
    status: 500,
    retryable: true,
    cause: ['client', 'service'],
    message: 'No renderer of the region is available.',
  },
  STORAGE_FAILED: {
    status: 500,
    retryable: true,
    cause: 'service',
    message: 'The file could not be stored. Send the request again.',
  },
  INTERNAL_ERROR: {
    status: 500,
    retryable: true,
    cause: 'service',
    message: 'Something went wrong here. Send the request again.',
  },
} as const satisfies Record<
  string,
  { status: number; retryable: boolean; cause: FailureCause | readonly FailureCause[]; message: string }
>;

export type ErrorCode = keyof typeof errorTable;

export const errorCodes = Object.keys(errorTable) as ErrorCode[];

/** The causes that an error of this code can have. */
export function causesOf(code: ErrorCode): readonly FailureCause[] {
  const { cause } = errorTable[code];
  return typeof cause === 'string' ? [cause] : cause;
}

/**
 * Checks the cause that a renderer, or the thrower of an error, states. If no cause is stated, or a code cannot have that cause, returns
 * the only cause of the code. If the code has several, returns `service`, so that no failure of the service is hidden.
 */
export function causeOf(code: ErrorCode, stated: unknown): FailureCause {
  const causes = causesOf(code);
  return causes.find((cause) => cause === stated) ?? (causes.length === 1 ? causes[0] : undefined) ?? 'service';
}

/** Codes that have several causes, so that the thrower must state one. */
type CodeWithoutCause = {
  [Code in ErrorCode]: (typeof errorTable)[Code]['cause'] extends FailureCause ? never : Code;
}[ErrorCode];

interface ServiceErrorOptions {
  /** Default: the cause that belongs to the code. */
  readonly causedBy?: FailureCause;
  /** The error that is logged, but not sent to clients. */
  readonly cause?: unknown;
}

/** Arguments after the code. `causedBy` is required for a code with several causes, and for a code that is known only at run time. */
type ServiceErrorRest<Code extends ErrorCode> = [Extract<Code, CodeWithoutCause>] extends [never]
  ? [message?: string | undefined, options?: ServiceErrorOptions]
  : [message: string | undefined, options: ServiceErrorOptions & { readonly causedBy: FailureCause }];

/**
 * An error with a public message. Clients read `message`; `cause` stays in the log. Callers compare `code` and never
 * parse messages.
 */
export class ServiceError<Code extends ErrorCode = ErrorCode> extends Error {
  readonly code: Code;
  readonly causedBy: FailureCause;

  constructor(code: Code, ...[message, options = {}]: ServiceErrorRest<Code>) {
    super(message ?? errorTable[code].message, 'cause' in options ? { cause: options.cause } : {});
    this.name = 'ServiceError';
    this.code = code;
    this.causedBy = causeOf(code, options.causedBy);
  }

  get status(): number {
    return errorTable[this.code].status;
  }

  get retryable(): boolean {
    return errorTable[this.code].retryable;
  }
}

/**
 * Converts any thrown value to a {@link ServiceError}. A value that is one already is returned unchanged. Any other becomes an error with
 * the code `fallback` that this service has caused.
 */
export function toServiceError(thrown: unknown, fallback: ErrorCode = 'INTERNAL_ERROR'): ServiceError {
  if (thrown instanceof ServiceError) return thrown;
  return new ServiceError(fallback, undefined, { causedBy: 'service', cause: thrown });
}
