import type { AccountLimits } from '../state/admission.ts';
import type { EnvReader } from './env.ts';

/** Limits of an account for which none were chosen: fronts and controllers must be told the same. */
export function readDefaultLimits(env: EnvReader): AccountLimits {
  const ratePerMinute = env.integer('WEBCAPTURE_DEFAULT_RATE_PER_MINUTE', 120, { min: 1, max: 1e6 });
  return {
    tokenQuota: env.integer('WEBCAPTURE_DEFAULT_TOKEN_QUOTA', 100_000, { min: 0, max: 1e12 }),
    ratePerMinute,
    burst: env.integer('WEBCAPTURE_DEFAULT_BURST', ratePerMinute, { min: 1, max: 1e6 }),
    maxInFlight: env.integer('WEBCAPTURE_DEFAULT_MAX_IN_FLIGHT', 20, { min: 1, max: 1e6 }),
    maxQueued: env.integer('WEBCAPTURE_DEFAULT_MAX_QUEUED', 10_000, { min: 0, max: 1e7 }),
  };
}
