import { ServiceError } from '@webcapture/shared/errors/service-error.ts';
import type { FastifyError } from 'fastify';

/** What the framework refuses before a handler has a say, in our words. */
const frameworkErrors: Readonly<Record<string, () => ServiceError>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () =>
    invalid('the body must be JSON: send it with the header "Content-Type: application/json"'),
  FST_ERR_CTP_BODY_TOO_LARGE: () => invalid('the body is larger than 8 MiB'),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () => invalid('the body is not as long as its Content-Length says'),
  FST_ERR_BAD_URL: () => new ServiceError('NOT_FOUND'),
  FST_ERR_MAX_PARAM_LENGTH: () => new ServiceError('NOT_FOUND'),
};

const invalid = (message: string) => new ServiceError('VALIDATION_ERROR', message);

/** Any thrown value as what the client may know; what it may not stays in `cause`, for the log. */
export function publicError(thrown: FastifyError | Error, requestId: string): ServiceError {
  if (thrown instanceof ServiceError) return thrown;
  const { code = '', statusCode = 500 } = thrown as Partial<FastifyError>;
  const known = frameworkErrors[code];
  if (known !== undefined) return known();
  if (statusCode >= 400 && statusCode < 500) {
    return new ServiceError('VALIDATION_ERROR', 'the request could not be read', { cause: thrown });
  }
  return new ServiceError(
    'INTERNAL_ERROR',
    `Something went wrong here. Send the request again; if it stays, tell the operator the request id ${requestId}.`,
    { cause: thrown },
  );
}
