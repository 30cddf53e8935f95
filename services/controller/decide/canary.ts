import type { CanaryFacts } from '../gather/facts.ts';
import type { Verdict } from './verdict.ts';

const failuresOfOutage = 2;

/**
 * What the test captures say of a region. Two failures in a row are an outage; one may be a chance. One that waited in
 * vain while all slots were busy is no failure of the renderers, but as slow as for everybody else.
 */
export function judgeCanary(canary: CanaryFacts | null): Verdict | null {
  if (canary === null) return null;
  if (canary.failures >= failuresOfOutage) {
    const reason = canary.reason === undefined ? '' : ` (${canary.reason.replace(/\.$/, '')})`;
    return { status: 'partial_outage', message: `the last ${canary.failures} test captures failed${reason}` };
  }
  if (canary.last !== 'crowded') return null;
  return { status: 'degraded_performance', message: 'a test capture waited in vain for a free slot' };
}
