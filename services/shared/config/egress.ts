import { parseCidrs } from '../egress/cidr.ts';
import type { EnvReader } from './env.ts';

/** The CIDR ranges opened to captures and webhooks: `WEBCAPTURE_EGRESS_ALLOW`, with commas between them. */
export const readEgressAllow = (env: EnvReader): readonly string[] => readRanges(env, 'WEBCAPTURE_EGRESS_ALLOW');

/** The CIDR ranges closed to captures and webhooks, whatever else opens them: `WEBCAPTURE_EGRESS_DENY`. */
export const readEgressDeny = (env: EnvReader): readonly string[] => readRanges(env, 'WEBCAPTURE_EGRESS_DENY');

function readRanges(env: EnvReader, name: string): readonly string[] {
  const ranges = env.parsed(name, '', (value) => {
    const listed = value.split(',').flatMap((range) => range.trim() || []);
    parseCidrs(listed);
    return listed;
  });
  return ranges ?? [];
}
