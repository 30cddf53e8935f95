import { createHash, timingSafeEqual } from 'node:crypto';
import { ServiceError } from '@webcapture/shared/errors/service-error.ts';
import { bearerToken } from './bearer-token.ts';

/**
 * Lets the operator through, and nobody else. How long the comparison takes tells nothing about the token.
 *
 * @param expected the operator's token; undefined when none is configured: then there are no admin endpoints
 * @throws ServiceError NOT_FOUND, UNAUTHORIZED
 */
export function checkAdminToken(authorization: string | undefined, expected: string | undefined): void {
  if (expected === undefined) {
    throw new ServiceError('NOT_FOUND', 'There are no admin endpoints: the operator has set no admin token.');
  }
  const token = bearerToken(authorization);
  if (token === null || !timingSafeEqual(digest(token), digest(expected))) {
    throw new ServiceError(
      'UNAUTHORIZED',
      'The admin token is missing or wrong. Send it as "Authorization: Bearer <WEBCAPTURE_ADMIN_TOKEN>".',
    );
  }
}

/** Of one length, whatever the token's: else the comparison would tell it. */
const digest = (token: string) => createHash('sha256').update(token).digest();
