import { errorTable, type ErrorCode } from './table.ts';

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
