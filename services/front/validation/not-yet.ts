import type { CaptureRequest } from '@webcapture/shared/contract/capture-request.ts';
import { ServiceError } from '@webcapture/shared/errors/service-error.ts';

/**
 * Refuses what the interface has and this version does not do: a request is never accepted with a part of it ignored.
 *
 * @throws ServiceError VALIDATION_ERROR
 */
export function refuseNotYet(request: CaptureRequest): void {
  const wanted = {
    'persistence.enabled': request.persistence.enabled,
    background: request.background,
    webhook: request.webhook !== undefined,
  };
  const names = Object.entries(wanted).flatMap(([name, isWanted]) => (isWanted ? [name] : []));
  if (names.length === 0) return;
  const verb = names.length === 1 ? 'is' : 'are';
  throw new ServiceError(
    'VALIDATION_ERROR',
    `${names.join(', ')} ${verb} not available yet in this version; send the request without`,
  );
}
