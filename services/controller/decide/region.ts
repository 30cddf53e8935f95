import type { RegionFacts } from '../gather/facts.ts';
import { judgeCanary } from './canary.ts';
import { judgeClusters } from './cluster-renderers.ts';
import { judgeFailures, judgeQueueWait } from './recent-captures.ts';
import { judgeRenderers } from './renderers.ts';
import { reasonsOf, worstStatus, type Verdict } from './verdict.ts';

/** The state of a region: the worst that any of its facts says. Null while its renderers cannot be known. */
export function decideRegion(facts: RegionFacts): Verdict | null {
  const renderers = judgeClusters(facts) ?? judgeRenderers(facts);
  // Those that have been heard are there in any case; only of the others nothing can be said.
  if (!facts.fleetKnown && renderers.status !== 'operational') return null;
  // A test capture says nothing about renderers that are no longer there.
  const canary = renderers.status === 'major_outage' ? null : facts.canary;
  const verdicts = [
    renderers,
    judgeFailures(facts.pods),
    judgeQueueWait(facts.pods, facts.waiting),
    judgeCanary(canary),
  ].filter((verdict) => verdict !== null);
  const status = worstStatus(verdicts.map((verdict) => verdict.status));
  return {
    status,
    message: status === 'operational' ? renderers.message : reasonsOf(verdicts),
    ...(canary?.ms === undefined ? {} : { responseTimeMs: canary.ms }),
  };
}
