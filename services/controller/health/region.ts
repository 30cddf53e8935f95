import type { RendererHeartbeat } from '@webcapture/shared/queue/heartbeat.ts';
import type { RegionFacts, PriorityDepths, CanaryFacts } from './facts.ts';
import { judgeClusters, judgeRenderers, sum } from './renderers.ts';
import { reasonsOf, worstStatus, duration, type Verdict } from './verdict.ts';

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

/** Of fewer captures than this within five minutes no share is taken: one failure of two says nothing. */
export const minCaptures = 10;

const maxFailedShare = 0.2;
const maxQueueWaitMs = 10_000;

/** More than a fifth of the captures of the last five minutes failed for reasons of our own. */
function judgeFailures(pods: readonly RendererHeartbeat[]): Verdict | null {
  const ended = sum(pods.map(({ recent }) => recent.ended));
  const failed = sum(pods.map(({ recent }) => recent.failedByUs));
  if (ended < minCaptures || failed / ended <= maxFailedShare) return null;
  return {
    status: 'degraded_performance',
    message: `${Math.round((failed / ended) * 100)}% of the last ${ended} captures failed for reasons of our own`,
  };
}

/**
 * Captures wait for more than ten seconds: by the 95th percentile of the last five minutes, or because one waits for that
 * long right now. All renderers of a region serve one queue, so the mean of their percentiles, weighted by captures, is
 * taken for that of the region.
 */
function judgeQueueWait(pods: readonly RendererHeartbeat[], waiting: PriorityDepths | null): Verdict | null {
  const oldestMs = waiting?.oldestInteractiveMs ?? 0;
  if (oldestMs > maxQueueWaitMs) {
    return { status: 'degraded_performance', message: `a capture has waited ${duration(oldestMs)} for a renderer` };
  }
  const ended = sum(pods.map(({ recent }) => recent.ended));
  const p95Ms = sum(pods.map(({ recent }) => recent.queueWaitP95Ms * recent.ended)) / Math.max(1, ended);
  if (ended < minCaptures || p95Ms <= maxQueueWaitMs) return null;
  return { status: 'degraded_performance', message: `captures wait up to ${duration(p95Ms)} for a renderer` };
}

const failuresOfOutage = 2;

/**
 * What the test captures say of a region. Two failures in a row are an outage; one may be a chance. One that waited in
 * vain while all slots were busy is no failure of the renderers, but as slow as for everybody else.
 */
function judgeCanary(canary: CanaryFacts | null): Verdict | null {
  if (canary === null) return null;
  if (canary.failures >= failuresOfOutage) {
    const reason = canary.reason === undefined ? '' : ` (${canary.reason.replace(/\.$/, '')})`;
    return { status: 'partial_outage', message: `the last ${canary.failures} test captures failed${reason}` };
  }
  if (canary.last !== 'crowded') return null;
  return { status: 'degraded_performance', message: 'a test capture waited in vain for a free slot' };
}
