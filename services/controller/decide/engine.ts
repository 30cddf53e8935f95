import type { Region } from '@webcapture/shared/contract/regions.ts';
import { reasonsOf, worstStatus, type Verdict } from './verdict.ts';

/**
 * The engine as a whole: down when every region is, partly down when any region is in an outage, else as the worst of
 * its regions. Its response time is that of the slowest region.
 */
export function decideEngine(regions: Readonly<Partial<Record<Region, Verdict>>>): Verdict {
  const named = Object.entries(regions);
  const verdicts = named.map(([, verdict]) => verdict);
  const down = verdicts.filter(({ status }) => status === 'major_outage').length;
  const worst = worstStatus(verdicts.map(({ status }) => status));
  const status = worst !== 'major_outage' || down === verdicts.length ? worst : 'partial_outage';
  const times = verdicts.flatMap(({ responseTimeMs }) => responseTimeMs ?? []);
  return {
    status,
    message:
      status === 'operational'
        ? `${verdicts.length} of ${verdicts.length} regions operational`
        : reasonsOf(named.map(([region, verdict]) => ({ ...verdict, message: `${region}: ${verdict.message}` }))),
    ...(times.length === 0 ? {} : { responseTimeMs: Math.max(...times) }),
  };
}
