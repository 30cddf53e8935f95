import type { AccountLimits } from '../state/admission.ts';
import type { EnvReader } from './env.ts';
import { integerVariable } from './variables.ts';

export const defaultLimitVariables = {
  tokenQuota: integerVariable('WEBCAPTURE_DEFAULT_TOKEN_QUOTA', {
    default: 100_000,
    min: 0,
    max: 1e12,
    meaning: 'Tokens that an account may use in a calendar month (UTC).',
  }),
  ratePerMinute: integerVariable('WEBCAPTURE_DEFAULT_RATE_PER_MINUTE', {
    default: 120,
    min: 1,
    max: 1e6,
    meaning: 'Captures that an account may request per minute.',
  }),
  burst: integerVariable('WEBCAPTURE_DEFAULT_BURST', {
    default: 120,
    defaultText: '`WEBCAPTURE_DEFAULT_RATE_PER_MINUTE`',
    min: 1,
    max: 1e6,
    meaning: 'Captures that an account may request at once before the rate applies.',
  }),
  maxInFlight: integerVariable('WEBCAPTURE_DEFAULT_MAX_IN_FLIGHT', {
    default: 20,
    min: 1,
    max: 1e6,
    meaning: 'Captures of an account that clients may wait for at the same time.',
  }),
  maxQueued: integerVariable('WEBCAPTURE_DEFAULT_MAX_QUEUED', {
    default: 10_000,
    min: 0,
    max: 1e7,
    meaning: 'Background captures of an account that may be queued at the same time.',
  }),
};

/** Limits of an account for which none were chosen: fronts and controllers must be told the same. */
export function readDefaultLimits(env: EnvReader): AccountLimits {
  const ratePerMinute = defaultLimitVariables.ratePerMinute.read(env);
  return {
    tokenQuota: defaultLimitVariables.tokenQuota.read(env),
    ratePerMinute,
    burst: defaultLimitVariables.burst.read(env, ratePerMinute),
    maxInFlight: defaultLimitVariables.maxInFlight.read(env),
    maxQueued: defaultLimitVariables.maxQueued.read(env),
  };
}
