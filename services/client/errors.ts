import type { components } from './openapi.ts';

/** The values of `error.code` in responses of the service. */
export type ErrorCode = components['schemas']['Error']['code'];

/** The codes of errors without a response of the service. */
export type ClientErrorCode =
  /** No response: no connection, a name that does not resolve, or a connection that ended early. */
  | 'NETWORK_ERROR'
  /** No response within the timeout. */
  | 'TIMEOUT'
  /** A response that is not from the service: from a proxy, or from an address without webcapture. */
  | 'UNEXPECTED_RESPONSE';

/** Details of an error in addition to its code and message. */
export interface ErrorDetails {
  /** HTTP status of the response; null without a response. */
  readonly status?: number | null;
  readonly retryable?: boolean;
  readonly requestId?: string | null;
  readonly retryAfterMs?: number | null;
  readonly captureUuid?: string | null;
  readonly cause?: unknown;
}

/**
 * The class of all errors of this client. There are two exceptions: an aborted call rejects with the reason of its signal, and
 * `WebhookVerificationError` is about a received event. Programs should check `code`; messages are for people.
 */
export class WebcaptureError extends Error {
  override readonly name: string = 'WebcaptureError';
  readonly code: ErrorCode | ClientErrorCode;
  /** HTTP status of the response; null without a response, and for a capture that failed in the background. */
  readonly status: number | null;
  /** Whether a retry of the unchanged call can succeed. */
  readonly retryable: boolean;
  /** ID of the request, with which operators find the request in the logs. */
  readonly requestId: string | null;
  /** Milliseconds until the next attempt, from the service; null if the response does not contain it. */
  readonly retryAfterMs: number | null;
  /** UUID of the capture that the error concerns, if any. */
  readonly captureUuid: string | null;

  constructor(code: ErrorCode | ClientErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.status = details.status ?? null;
    this.retryable = details.retryable ?? retryableCodes.has(code);
    this.requestId = details.requestId ?? null;
    this.retryAfterMs = details.retryAfterMs ?? null;
    this.captureUuid = details.captureUuid ?? null;
  }
}

/**
 * 400: the request is invalid (VALIDATION_ERROR), the egress policy refuses the address (URL_BLOCKED), or the session of the option `session` does
 * not exist (SESSION_NOT_FOUND).
 */
export class ValidationError extends WebcaptureError {
  override readonly name = 'ValidationError';
}

/** 401: the API key, or admin token, is missing, unknown, expired or revoked. */
export class AuthenticationError extends WebcaptureError {
  override readonly name = 'AuthenticationError';
}

/** 403: the API key lacks the scope, or the account is suspended. */
export class PermissionError extends WebcaptureError {
  override readonly name = 'PermissionError';
}

/** 404: the capture, session, key or address does not exist. */
export class NotFoundError extends WebcaptureError {
  override readonly name = 'NotFoundError';
}

/** 409: the state of the resource does not allow the operation. */
export class ConflictError extends WebcaptureError {
  override readonly name = 'ConflictError';
}

/** 402: the token quota of the calendar month is exhausted. */
export class QuotaExceededError extends WebcaptureError {
  override readonly name = 'QuotaExceededError';
}

/**
 * 429: too many requests (RATE_LIMIT_EXCEEDED) or captures (QUEUE_FULL). `retryAfterMs` contains the time until the next attempt.
 */
export class RateLimitError extends WebcaptureError {
  override readonly name = 'RateLimitError';
}

/** The page could not be captured: NAVIGATION_FAILED, CAPTURE_TIMEOUT, CAPTURE_FAILED, PAGE_TOO_LARGE. */
export class CaptureFailedError extends WebcaptureError {
  override readonly name = 'CaptureFailedError';
}

/**
 * The service is temporarily unable to process the request: REGION_UNAVAILABLE, STORAGE_FAILED, INTERNAL_ERROR, or a gateway error
 * of a proxy.
 */
export class ServiceUnavailableError extends WebcaptureError {
  override readonly name = 'ServiceUnavailableError';
}

/** No response: the code is NETWORK_ERROR, `cause` is the error of fetch. */
export class NetworkError extends WebcaptureError {
  override readonly name = 'NetworkError';
}

/** The response, or the end of a capture, exceeded the timeout: the code is TIMEOUT. */
export class RequestTimeoutError extends WebcaptureError {
  override readonly name = 'RequestTimeoutError';
}

type ErrorClass = typeof WebcaptureError;

const classes: Readonly<Record<ErrorCode, ErrorClass>> = {
  VALIDATION_ERROR: ValidationError,
  URL_BLOCKED: ValidationError,
  SESSION_NOT_FOUND: ValidationError,
  UNAUTHORIZED: AuthenticationError,
  API_KEY_EXPIRED: AuthenticationError,
  API_KEY_REVOKED: AuthenticationError,
  QUOTA_EXCEEDED: QuotaExceededError,
  FORBIDDEN: PermissionError,
  NOT_FOUND: NotFoundError,
  CAPTURE_NOT_FOUND: NotFoundError,
  CONFLICT: ConflictError,
  RATE_LIMIT_EXCEEDED: RateLimitError,
  QUEUE_FULL: RateLimitError,
  NAVIGATION_FAILED: CaptureFailedError,
  CAPTURE_TIMEOUT: CaptureFailedError,
  CAPTURE_FAILED: CaptureFailedError,
  PAGE_TOO_LARGE: CaptureFailedError,
  REGION_UNAVAILABLE: ServiceUnavailableError,
  STORAGE_FAILED: ServiceUnavailableError,
  INTERNAL_ERROR: ServiceUnavailableError,
};

const retryableCodes: ReadonlySet<string> = new Set<ErrorCode | ClientErrorCode>([
  'RATE_LIMIT_EXCEEDED',
  'QUEUE_FULL',
  'NAVIGATION_FAILED',
  'CAPTURE_TIMEOUT',
  'CAPTURE_FAILED',
  'REGION_UNAVAILABLE',
  'STORAGE_FAILED',
  'INTERNAL_ERROR',
  'NETWORK_ERROR',
  'TIMEOUT',
]);

/** Returns the error for a response. `body` is its parsed JSON, or its text. */
export function errorOfResponse({ status, headers }: Response, body: unknown): WebcaptureError {
  const details = {
    status,
    requestId: headers.get('x-request-id'),
    retryAfterMs: retryAfterMs(headers),
    captureUuid: headers.get('x-capture-uuid'),
  };
  const failure = failureOf(body);
  if (failure !== null) return errorOfCode(failure.code, failure.message, details);
  const message = `The response with status ${status} is not from a webcapture service. Check the url of the client.`;
  if (gatewayStatuses.has(status)) {
    return new ServiceUnavailableError('UNEXPECTED_RESPONSE', message, { ...details, retryable: true });
  }
  return new WebcaptureError('UNEXPECTED_RESPONSE', message, details);
}

/** Returns an error of the service in the class for its code. */
export function errorOfCode(code: ErrorCode, message: string, details?: ErrorDetails): WebcaptureError {
  // A later version of the service may have codes that are unknown to this version.
  const Class = Object.hasOwn(classes, code) ? classes[code] : WebcaptureError;
  return new Class(code, message, details);
}

/** Statuses of a proxy that cannot reach the service. */
const gatewayStatuses: ReadonlySet<number> = new Set([502, 503, 504]);

function failureOf(body: unknown): { code: ErrorCode; message: string } | null {
  const { error } = (body ?? {}) as { error?: { code?: unknown; message?: unknown } };
  if (typeof error?.code !== 'string' || typeof error.message !== 'string') return null;
  return { code: error.code as ErrorCode, message: error.message };
}

/** Value of Retry-After in milliseconds. The header contains seconds, or a date if a proxy sent it. */
function retryAfterMs(headers: Headers): number | null {
  const value = headers.get('retry-after');
  if (value === null) return null;
  const seconds = Number(value);
  const ms = Number.isFinite(seconds) ? 1000 * seconds : Date.parse(value) - Date.now();
  return Number.isNaN(ms) ? null : Math.max(0, ms);
}
