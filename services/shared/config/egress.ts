import { parseCidrs } from '../egress/cidr.ts';
import type { EnvReader } from './env.ts';

/** The CIDR ranges opened to captures and webhooks: `WEBCAPTURE_EGRESS_ALLOW`, with commas between them. */
export function readEgressAllow(env: EnvReader): readonly string[] {
  const ranges = env.parsed('WEBCAPTURE_EGRESS_ALLOW', '', (value) => {
    const listed = value.split(',').flatMap((range) => range.trim() || []);
    parseCidrs(listed);
    return listed;
  });
  return ranges ?? [];
}
