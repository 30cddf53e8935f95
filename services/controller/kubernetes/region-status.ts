import type { ComponentStatus } from '@webcapture/shared/api/status.ts';
import type { FleetProblem, RegionFacts } from '../health/facts.ts';
import { capacityOf, countRenderers } from '../health/renderers.ts';
import type { RenderRegion, RenderRegionStatus, StatusCondition } from './objects.ts';

export interface ResourceInput {
  readonly resource: Pick<RenderRegion, 'metadata' | 'spec' | 'status'>;
  /** The component of the region as `/status` shows it. */
  readonly component: ComponentStatus;
  readonly facts: RegionFacts;
  /** What keeps it from its fleet; of satellites only. */
  readonly problem?: FleetProblem | undefined;
  /** Captures that wait. */
  readonly queued: number;
  /** Unix milliseconds. */
  readonly now: number;
}

/** What the status of a RenderRegion should be: what `/status` shows, and the numbers behind it. */
export function regionStatus({ resource, component, facts, problem, queued, now }: ResourceInput): RenderRegionStatus {
  const { status, message = '', responseTimeMs } = component;
  const { healthy, wanted: expected } = countRenderers(facts);
  const wanted = facts.clusters?.asked ?? expected;
  const found = !(facts.clusters?.missing ?? []).includes(resource.spec.deployment);
  const refused = (facts.clusters?.refused ?? []).length > 0;
  const { generation } = resource.metadata;
  const time = new Date(now).toISOString().replace(/\.\d+Z$/, 'Z');
  // Tools that wait for a resource to become ready (kstatus) look at Ready alone: captures of this region are rendered.
  const isReady = problem === undefined && (status === 'operational' || status === 'degraded_performance');
  const reason =
    problem !== undefined ? problem.reason : !found ? 'DeploymentNotFound' : refused ? 'PodsRefused' : reasonOf(status);
  const conditions = [
    condition('Operational', status === 'operational', problem?.reason ?? reasonOf(status), message),
    found
      ? condition('DeploymentFound', true, 'Found', `the Deployment ${resource.spec.deployment} makes its renderers`)
      : condition('DeploymentFound', false, 'NotFound', `the Deployment ${resource.spec.deployment} is not there`),
    condition('Ready', isReady, isReady ? reasonOf(status) : reason, message),
  ].map((next): StatusCondition => {
    const before = resource.status?.conditions?.find(({ type }) => type === next.type);
    return {
      ...next,
      lastTransitionTime: before?.status === next.status ? before.lastTransitionTime : time,
      ...(generation === undefined ? {} : { observedGeneration: generation }),
    };
  });
  return {
    status,
    message: message.slice(0, 1024),
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    ready: healthy,
    wanted,
    expected,
    ...capacityOf(facts.pods),
    queued,
    ...(responseTimeMs === undefined ? {} : { responseTimeMs }),
    lastCheckedAt: time,
    conditions,
  };
}

/** `MajorOutage`: as the API writes reasons. */
export function reasonOf(status: RenderRegionStatus['status']): string {
  return status.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** What changes all the time under load is written no more often than this. */
const countsMs = 10_000;

/** So often even when nothing changes, so that a status that nobody updates any more can be recognized. */
const refreshMs = 60_000;

/** Whether the status is to be written: at once when the state changes, numbers and words now and then. */
export function isWorthWriting(
  before: Partial<RenderRegionStatus> | undefined,
  next: RenderRegionStatus,
  now: number,
): boolean {
  if (before?.status === undefined || before.lastCheckedAt === undefined) return true;
  const ageMs = Math.abs(now - Date.parse(before.lastCheckedAt));
  if (!(ageMs < refreshMs)) return true;
  const states = (status: Partial<RenderRegionStatus>) => [
    status.status,
    status.ready,
    status.wanted,
    status.conditions?.map((each) => [each.type, each.status, each.reason, each.observedGeneration]),
  ];
  if (differ(states(before), states(next))) return true;
  return ageMs >= countsMs && differ(wordsAndCounts(before), wordsAndCounts(next));
}

function wordsAndCounts({ conditions, ...rest }: Partial<RenderRegionStatus>): unknown {
  const { message, slots, busy, queued, responseTimeMs } = rest;
  return [message, slots, busy, queued, responseTimeMs ?? null, conditions?.map((each) => each.message)];
}

const differ = (a: unknown, b: unknown) => JSON.stringify(a) !== JSON.stringify(b);

const condition = (type: string, isTrue: boolean, reason: string, message: string) => ({
  type,
  status: isTrue ? ('True' as const) : ('False' as const),
  reason,
  message: message.slice(0, 1024),
});
