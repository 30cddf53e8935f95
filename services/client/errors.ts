import type { components } from './openapi.ts';

/** The codes that the service answers with in `error.code`. */
export type ErrorCode = components['schemas']['Error']['code'];

/** The codes of errors that no answer of the service stands for. */
export type ClientErrorCode =
  /** No answer came: no connection, a name that does not resolve, a connection that ended early. */
  | 'NETWORK_ERROR'
  /** No answer came in time. */
  | 'TIMEOUT'
  /** An answer came that is none of the service: of a proxy, or of an address where there is no webcapture. */
  | 'UNEXPECTED_RESPONSE';

/** What is known of an error beyond its code and message. */
export interface ErrorDetails {
  /** HTTP status of the answer; null without an answer. */
  readonly status?: number | null;
  readonly retryable?: boolean;
  readonly requestId?: string | null;
  readonly retryAfterMs?: number | null;
  readonly captureUuid?: string | null;
  readonly cause?: unknown;
}

/**
 * Every error of this client but two: an aborted call rejects with the reason of its signal, and
 * `WebhookVerificationError` is an error of a received event. Look at `code`; messages are for people.
 */
export class WebcaptureError extends Error {
  override readonly name: string = 'WebcaptureError';
  readonly code: ErrorCode | ClientErrorCode;
  /** HTTP status of the answer; null when no answer came, and of a capture that failed in the background. */
  readonly status: number | null;
  /** Whether the same call can succeed when it is simply made again. */
  readonly retryable: boolean;
  /** ID of the request; operators find the request in the logs by it. */
  readonly requestId: string | null;
  /** Milliseconds to wait before the call is made again, where the service names them. */
  readonly retryAfterMs: number | null;
  /** UUID of the capture that the error is about, where there is one. */
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

/** 400: the request is not valid (VALIDATION_ERROR), or the egress policy refuses the address (URL_BLOCKED). */
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

/** 404: there is no such capture, key or address. */
export class NotFoundError extends WebcaptureError {
  override readonly name = 'NotFoundError';
}

/** 409: the state of the resource does not allow it. */
export class ConflictError extends WebcaptureError {
  override readonly name = 'ConflictError';
}

/** 402: the token quota of the calendar month is used up. */
export class QuotaExceededError extends WebcaptureError {
  override readonly name = 'QuotaExceededError';
}

/** 429: too many requests (RATE_LIMIT_EXCEEDED) or captures (QUEUE_FULL). `retryAfterMs` tells how long to wait. */
export class RateLimitError extends WebcaptureError {
  override readonly name = 'RateLimitError';
}

/** The page could not be captured: NAVIGATION_FAILED, CAPTURE_TIMEOUT, CAPTURE_FAILED, PAGE_TOO_LARGE. */
export class CaptureFailedError extends WebcaptureError {
  override readonly name = 'CaptureFailedError';
}

/** The service cannot do it right now: REGION_UNAVAILABLE, STORAGE_FAILED, INTERNAL_ERROR, or a proxy that has no answer of it. */
export class ServiceUnavailableError extends WebcaptureError {
  override readonly name = 'ServiceUnavailableError';
}

/** No answer came: the code is NETWORK_ERROR, `cause` is what fetch failed with. */
export class NetworkError extends WebcaptureError {
  override readonly name = 'NetworkError';
}

/** No answer, or no end of a capture, came in time: the code is TIMEOUT. */
export class RequestTimeoutError extends WebcaptureError {
  override readonly name = 'RequestTimeoutError';
}

type ErrorClass = typeof WebcaptureError;

const classes: Readonly<Record<ErrorCode, ErrorClass>> = {
  VALIDATION_ERROR: ValidationError,
  URL_BLOCKED: ValidationError,
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

/** The error that an answer stands for. `body` is what its JSON was parsed to, or its text. */
export function errorOfResponse({ status, headers }: Response, body: unknown): WebcaptureError {
  const details = {
    status,
    requestId: headers.get('x-request-id'),
    retryAfterMs: retryAfterMs(headers),
    captureUuid: headers.get('x-capture-uuid'),
  };
  const failure = failureOf(body);
  if (failure !== null) return errorOfCode(failure.code, failure.message, details);
  const message = `The answer, of status ${status}, is not from a webcapture service. Check the url of the client.`;
  if (gatewayStatuses.has(status)) {
    return new ServiceUnavailableError('UNEXPECTED_RESPONSE', message, { ...details, retryable: true });
  }
  return new WebcaptureError('UNEXPECTED_RESPONSE', message, details);
}

/** An error of the service, of the class that its code belongs to. */
export function errorOfCode(code: ErrorCode, message: string, details?: ErrorDetails): WebcaptureError {
  // A later version of the service may have codes that this one does not know.
  const Class = Object.hasOwn(classes, code) ? classes[code] : WebcaptureError;
  return new Class(code, message, details);
}

/** What a proxy in front of the service answers with when it does not reach the service. */
const gatewayStatuses: ReadonlySet<number> = new Set([502, 503, 504]);

function failureOf(body: unknown): { code: ErrorCode; message: string } | null {
  const { error } = (body ?? {}) as { error?: { code?: unknown; message?: unknown } };
  if (typeof error?.code !== 'string' || typeof error.message !== 'string') return null;
  return { code: error.code as ErrorCode, message: error.message };
}

/** Retry-After in milliseconds: seconds, or a date, as a proxy may send it. */
function retryAfterMs(headers: Headers): number | null {
  const value = headers.get('retry-after');
  if (value === null) return null;
  const seconds = Number(value);
  const ms = Number.isFinite(seconds) ? 1000 * seconds : Date.parse(value) - Date.now();
  return Number.isNaN(ms) ? null : Math.max(0, ms);
}
