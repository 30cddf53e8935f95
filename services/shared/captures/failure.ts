import { type ErrorCode, ServiceError } from '../runtime/errors.ts';
import type { CaptureFailure } from './capture-record.ts';

/** The failure that a record keeps of an error. */
export const toFailure = <Code extends ErrorCode>({
  code,
  message,
  causedBy: cause,
}: ServiceError<Code>): CaptureFailure & { readonly code: Code } => ({ code, message, cause });

/** The error that a client gets for the failure of a record. */
export const toError = ({ code, message, cause }: CaptureFailure): ServiceError =>
  new ServiceError(code, message, { causedBy: cause });
