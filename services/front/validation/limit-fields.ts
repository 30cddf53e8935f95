import { ServiceError } from '@webcapture/shared/errors/service-error.ts';

/** No valid request has as many fields in one object. */
const maxFields = 100;

/** The schema looks no deeper into an object. */
const maxDepth = 4;

/**
 * Refuses a body with absurdly many fields before the schema makes an error out of each of them.
 *
 * @throws ServiceError VALIDATION_ERROR
 */
export function limitFields(body: unknown, depth = 1): void {
  if (body === null || typeof body !== 'object' || Array.isArray(body) || depth > maxDepth) return;
  let count = 0;
  for (const key in body) {
    count++;
    if (count > maxFields) {
      throw new ServiceError('VALIDATION_ERROR', `the body has an object of more than ${maxFields} fields`);
    }
    limitFields((body as Record<string, unknown>)[key], depth + 1);
  }
}
