import { ServiceError } from '@webcapture/shared/errors/service-error.ts';

/**
 * The Idempotency-Key of a request; undefined without the header. `rawHeaders`: names and values in turn, as received,
 * for Node joins values that were sent twice.
 *
 * @throws ServiceError VALIDATION_ERROR
 */
export function readIdempotencyKey(rawHeaders: readonly string[]): string | undefined {
  const values = rawHeaders.filter(
    (_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === 'idempotency-key',
  );
  const [key] = values;
  if (key === undefined) return undefined;
  if (values.length > 1)
    throw new ServiceError('VALIDATION_ERROR', 'The Idempotency-Key header may be sent only once.');
  if (!/^[\x21-\x7e]{1,255}$/.test(key)) {
    throw new ServiceError(
      'VALIDATION_ERROR',
      'The Idempotency-Key header must be 1 to 255 visible ASCII characters, without spaces.',
    );
  }
  return key;
}
