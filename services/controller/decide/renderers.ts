import type { RendererHeartbeat } from '@webcapture/shared/contract/heartbeat.ts';
import type { StatusValue } from '@webcapture/shared/contract/status.ts';
import type { RegionFacts } from '../gather/facts.ts';
import { duration, type Verdict } from './verdict.ts';

/** The most renderers that a message names. */
export const maxNamed = 3;

/**
 * What the number of healthy renderers says of a region. Healthy: heard within the last five seconds, its browser up,
 * not draining. (A draining one takes no captures, so nobody counts on it; a rolling update starts its successor first.)
 */
export function judgeRenderers(facts: Pick<RegionFacts, 'wanted' | 'pods' | 'silent'>): Verdict {
  const healthy = facts.pods.filter(isHealthy).length;
  const wanted = facts.wanted > 0 ? facts.wanted : wantedOfElastic(facts.pods);
  if (wanted === 0) return { status: 'operational', message: 'scaled to zero' };
  const status = byShare(healthy, wanted);
  const count = `${healthy} of ${wanted} renderers healthy`;
  const reasons = healthy < wanted ? whyMissing(facts, wanted - healthy) : [];
  return { status, message: reasons.length === 0 ? count : `${count}: ${reasons.join(', ')}` };
}

export function isHealthy(pod: RendererHeartbeat): boolean {
  return pod.browser === 'up' && !pod.draining;
}

/** The table of the status: how many of the wanted renderers are healthy. `wanted` is at least 1. */
export function byShare(healthy: number, wanted: number): StatusValue {
  if (healthy >= wanted * 0.75) return 'operational';
  if (healthy >= wanted * 0.5) return 'degraded_performance';
  return healthy > 0 ? 'partial_outage' : 'major_outage';
}

/** A region that may scale to zero wants those to work that are there, once they have started and until they leave. */
function wantedOfElastic(pods: readonly RendererHeartbeat[]): number {
  return pods.filter((pod) => !pod.draining && pod.browser !== 'starting').length;
}

function whyMissing(facts: Pick<RegionFacts, 'pods' | 'silent'>, missing: number): string[] {
  const { pods, silent } = facts;
  const known = [
    ...silent
      .toSorted((a, b) => a.forMs - b.forMs)
      .map(({ pod, forMs }) => `${pod} has not been heard for ${duration(forMs)}`),
    ...pods.filter((pod) => !isHealthy(pod)).map(whyUnhealthy),
  ].slice(0, Math.min(missing, maxNamed));
  const others = missing - known.length;
  if (others === 0) return known;
  if (known.length > 0) return [...known, `${others} more missing`];
  return [facts.pods.length === 0 ? 'none is running' : `${others} not running`];
}

/** Why a renderer that is heard is not healthy. */
export function whyUnhealthy({ pod, browser, draining }: RendererHeartbeat): string {
  if (browser === 'down') return `${pod} has no working browser`;
  return draining ? `${pod} is about to stop` : `${pod} is starting its browser`;
}
