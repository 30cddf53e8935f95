import { describe, expect, test } from 'vitest';
import {
  causeOf,
  causesOf,
  errorCodes,
  failureCauses,
  ServiceError,
  toServiceError,
} from '@webcapture/shared/runtime/errors.ts';
import { refusalOf } from '../../../services/front/admission.ts';
import { wideBytes } from '../../harness/limits.ts';

const causes = {
  VALIDATION_ERROR: ['client'],
  URL_BLOCKED: ['client'],
  UNAUTHORIZED: ['client'],
  API_KEY_EXPIRED: ['client'],
  API_KEY_REVOKED: ['client'],
  QUOTA_EXCEEDED: ['client'],
  FORBIDDEN: ['client'],
  NOT_FOUND: ['client'],
  CAPTURE_NOT_FOUND: ['client'],
  SESSION_NOT_FOUND: ['client'],
  CONFLICT: ['client'],
  RATE_LIMIT_EXCEEDED: ['client'],
  QUEUE_FULL: ['client', 'service'],
  NAVIGATION_FAILED: ['page'],
  CAPTURE_TIMEOUT: ['page', 'service'],
  CAPTURE_FAILED: ['client', 'page', 'service'],
  PAGE_TOO_LARGE: ['page'],
  REGION_UNAVAILABLE: ['client', 'service'],
  STORAGE_FAILED: ['service'],
  INTERNAL_ERROR: ['service'],
};

test('every error code has the causes that the API guide lists', () => {
  expect(Object.fromEntries(errorCodes.map((code) => [code, causesOf(code)]))).toEqual(causes);
});

test.each(errorCodes)('causeOf returns a cause that %s can have', (code) => {
  // An invalid or unknown cause does not hide a failure of the service.
  const unknown = causes[code].length === 1 ? causes[code][0] : 'service';
  for (const cause of failureCauses) {
    expect(causeOf(code, cause)).toBe((causes[code] as readonly string[]).includes(cause) ? cause : unknown);
  }
  for (const stated of [undefined, null, '', 'network', 7, ['client']]) expect(causeOf(code, stated)).toBe(unknown);
});

test('a ServiceError has the cause that it is given, or else that of its code', () => {
  expect(new ServiceError('NAVIGATION_FAILED').causedBy).toBe('page');
  expect(new ServiceError('CAPTURE_FAILED', 'It crashed.', { causedBy: 'page' }).causedBy).toBe('page');
  // @ts-expect-error The cause is missing.
  expect(() => new ServiceError('CAPTURE_FAILED', 'It failed.')).not.toThrow();
});

test('an unexpected error is caused by the service', () => {
  expect(toServiceError(new TypeError('x is undefined'), 'CAPTURE_FAILED')).toMatchObject({
    code: 'CAPTURE_FAILED',
    causedBy: 'service',
  });
});

describe('a refusal for a limit of the account', () => {
  const limits = { tokenQuota: 1, ratePerMinute: 1, burst: 1, maxInFlight: 1, maxQueued: 1, ...wideBytes };
  test.each(['rate', 'quota', 'in-flight', 'queued'] as const)('%s is caused by the client', (refused) => {
    const verdict = { refused, retryAfterMs: 0, remaining: 0, resetMs: 0 };
    expect(refusalOf(verdict, limits, { tokens: 1, now: 0, waitSeconds: null })?.causedBy).toBe('client');
  });
});
