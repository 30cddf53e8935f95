import { ServiceError } from '@webcapture/shared/errors/service-error.ts';

/**
 * Refuses what the interface has and this version does not do: a request is never accepted with a part of it ignored.
 *
 * @throws ServiceError VALIDATION_ERROR
 */
export function refuseNotYet(headers: Readonly<Record<string, unknown>>): void {
  const wanted = {
    'The Idempotency-Key header': headers['idempotency-key'] !== undefined,
  };
  const names = Object.entries(wanted).flatMap(([name, isWanted]) => (isWanted ? [name] : []));
  if (names.length === 0) return;
  const verb = names.length === 1 ? 'is' : 'are';
  throw new ServiceError(
    'VALIDATION_ERROR',
    `${names.join(', ')} ${verb} not available yet in this version; send the request without`,
  );
}
