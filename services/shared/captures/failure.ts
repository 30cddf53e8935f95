import { type ErrorCode, ServiceError } from '../runtime/errors.ts';
import type { CaptureFailure } from './capture-record.ts';

/** Converts an error to the failure that a record stores. */
export const toFailure = <Code extends ErrorCode>({
  code,
  message,
  causedBy: cause,
}: ServiceError<Code>): CaptureFailure & { readonly code: Code } => ({ code, message, cause });

/** Converts the failure of a record to the error for clients. */
export const toError = ({ code, message, cause }: CaptureFailure): ServiceError =>
  new ServiceError(code, message, { causedBy: cause });
