import type { ComponentStatus } from '@webcapture/shared/api/status.ts';
import type { FleetProblem, RegionFacts } from '../health/facts.ts';
import { capacityOf, countRenderers } from '../health/renderers.ts';
import type { RenderRegion, RenderRegionStatus, StatusCondition } from './objects.ts';

export interface ResourceInput {
  readonly resource: Pick<RenderRegion, 'metadata' | 'spec' | 'status'>;
  /** The component of the region as `/status` shows it. */
  readonly component: ComponentStatus;
  readonly facts: RegionFacts;
  /** Problem that keeps the region out of its fleet. Only satellites have this field. */
  readonly problem?: FleetProblem | undefined;
  /** Number of waiting captures. */
  readonly queued: number;
  /** Unix milliseconds. */
  readonly now: number;
}

/** Computes the status of a RenderRegion: the state that `/status` shows, and its numbers. */
export function regionStatus({ resource, component, facts, problem, queued, now }: ResourceInput): RenderRegionStatus {
  const { status, message = '', responseTimeMs } = component;
  const { healthy, wanted: expected } = countRenderers(facts);
  const wanted = facts.clusters?.asked ?? expected;
  const found = !(facts.clusters?.missing ?? []).includes(resource.spec.deployment);
  const refused = (facts.clusters?.refused ?? []).length > 0;
  const { generation } = resource.metadata;
  const time = new Date(now).toISOString().replace(/\.\d+Z$/, 'Z');
  // Tools that wait for readiness (kstatus) read only the condition Ready. Ready is therefore true if captures of this region are rendered.
  const isReady = problem === undefined && (status === 'operational' || status === 'degraded_performance');
  const reason =
    problem !== undefined ? problem.reason : !found ? 'DeploymentNotFound' : refused ? 'PodsRefused' : reasonOf(status);
  const conditions = [
    condition('Operational', status === 'operational', problem?.reason ?? reasonOf(status), message),
    found
      ? condition('DeploymentFound', true, 'Found', `the Deployment ${resource.spec.deployment} makes its renderers`)
      : condition('DeploymentFound', false, 'NotFound', `the Deployment ${resource.spec.deployment} does not exist`),
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

/** Converts a status to a reason of the API, such as `MajorOutage`. */
export function reasonOf(status: RenderRegionStatus['status']): string {
  return status.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** Minimum interval between writes of values that change constantly under load. */
const countsMs = 10_000;

/** Interval of writes without changes, so that an outdated status can be recognized. */
const refreshMs = 60_000;

/** Returns whether to write the status: immediately if the state is new, and at intervals for numbers and messages. */
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
