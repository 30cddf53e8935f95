import { parseCidrs } from '../egress/cidr.ts';
import type { EnvReader } from './env.ts';
import { parsedVariable } from './variables.ts';

const cidrRanges = (name: string, meaning: string) =>
  parsedVariable(name, { type: 'CIDR ranges, separated by commas', default: '', parse: parseRanges, meaning });

export const egressVariables = {
  allow: cidrRanges(
    'WEBCAPTURE_EGRESS_ALLOW',
    'Ranges that captures and webhooks may reach although they are closed by default (private, loopback, link-local, reserved).',
  ),
  deny: cidrRanges(
    'WEBCAPTURE_EGRESS_DENY',
    'Ranges that captures and webhooks may not reach, whatever else opens them. Name the public addresses of your own cluster here.',
  ),
};

/** The CIDR ranges opened to captures and webhooks. */
export const readEgressAllow = (env: EnvReader): readonly string[] => egressVariables.allow.read(env) ?? [];

/** The CIDR ranges closed to captures and webhooks, whatever else opens them. */
export const readEgressDeny = (env: EnvReader): readonly string[] => egressVariables.deny.read(env) ?? [];

function parseRanges(value: string): readonly string[] {
  const listed = value.split(',').flatMap((range) => range.trim() || []);
  parseCidrs(listed);
  return listed;
}
