import { ServiceError } from '@webcapture/shared/errors/service-error.ts';
import { describeValue } from '../validation/describe-schema.ts';

const isoDate = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/i;

/**
 * When a key is to end, as Unix milliseconds; undefined for never.
 *
 * @throws ServiceError VALIDATION_ERROR for what is no date with a time zone, or has passed
 */
export function parseExpiry(text: string | null | undefined, now: number): number | undefined {
  if (text === null || text === undefined) return undefined;
  const time = isoDate.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(time)) {
    const rule = 'expiresAt must be a date and time like "2030-01-31T00:00:00Z"';
    throw new ServiceError('VALIDATION_ERROR', `${rule}, not ${describeValue(text)}`);
  }
  if (time <= now) throw new ServiceError('VALIDATION_ERROR', `expiresAt must lie in the future, not at ${text}`);
  return time;
}
