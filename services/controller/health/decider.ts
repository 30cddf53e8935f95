import { type ComponentStatus, regionComponent, worstStatus } from '@webcapture/shared/api/status.ts';
import type { RendererHeartbeat } from '@webcapture/shared/queue/parse-heartbeat.ts';
import type { Region } from '@webcapture/shared/runtime/regions.ts';
import type {
  CanaryFacts,
  DecidedStatus,
  Facts,
  PriorityDepths,
  QueueFacts,
  RegionFacts,
  StorageFacts,
} from './facts.ts';
import { judgeClusters, judgeRenderers, sum } from './renderers.ts';
import { damp, type Damped, duration, reasonsOf, type Verdict } from './verdict.ts';

interface Component {
  readonly damped: Damped;
  /** Unix milliseconds of the reading. */
  readonly at: number;
}

/** Turns facts into the states of all components. It keeps only what damping needs. */
export class Decider {
  readonly #components = new Map<string, Component>();

  /** Returns the report after one more reading; null until every component has been read once. */
  next(facts: Facts): DecidedStatus | null {
    this.#take('queue', decideQueue(facts.queue), facts.at);
    this.#take('storage', decideStorage(facts.storage), facts.storage?.at ?? facts.at);
    for (const region of facts.regions) this.#take(regionComponent(region.region), decideRegion(region), facts.at);
    return this.#report(facts);
  }

  #take(name: string, reading: Verdict | null, at: number): void {
    if (reading === null) return;
    this.#components.set(name, { damped: damp(this.#components.get(name)?.damped ?? null, reading), at });
  }

  #report(facts: Facts): DecidedStatus | null {
    const queue = this.#components.get('queue');
    const storage = this.#components.get('storage');
    const regions = facts.regions.map(({ region, isPending }) => ({
      region,
      isPending,
      component: this.#components.get(regionComponent(region)),
    }));
    if (queue === undefined || storage === undefined) return null;
    const shown: Partial<Record<Region, Verdict>> = {};
    const components = [
      describe('queue', queue.damped.shown, queue.at),
      describe('storage', storage.damped.shown, storage.at),
    ];
    const described: ComponentStatus[] = [];
    const pending: ComponentStatus[] = [];
    for (const { region, isPending, component } of regions) {
      if (component === undefined) {
        if (isPending) continue;
        return null;
      }
      const verdict = component.damped.shown;
      if (isPending) {
        const message = `not installed yet: ${verdict.message}`;
        pending.push(describe(regionComponent(region), { ...verdict, message }, component.at));
        continue;
      }
      shown[region] = verdict;
      described.push(describe(regionComponent(region), verdict, component.at));
    }
    const waited = regions.flatMap(({ region, isPending }) => (isPending ? [`${region} is not installed yet`] : []));
    // The engine is computed from damped regions, so it is not damped again.
    const engine = withProblems(withPending(decideEngine(shown), waited), facts.clusters);
    components.push(describe('engine', engine, facts.at), ...described);
    return {
      components,
      pending,
      queued: Object.fromEntries(facts.regions.map(({ region, waiting }) => [region, total(waiting)])),
      clusters: facts.clusters,
      overall: worstStatus(components.map(({ status }) => status)),
      at: facts.at,
    };
  }
}

/** Maximum number of problems in a message. */
const maxProblems = 3;

/** A satellite of another fleet or of an old version is not an outage of this fleet. It is shown because operators look for it here. */
function withProblems(verdict: Verdict, clusters: Facts['clusters']): Verdict {
  const problems = [...new Set(clusters.flatMap((cluster) => cluster.problems))];
  return { ...verdict, message: [verdict.message, ...problems.slice(0, maxProblems)].join('; ') };
}

/** A region that is not installed yet is not an outage, unless it is the only one. */
function withPending(verdict: Verdict, pending: readonly string[]): Verdict {
  if (pending.length === 0) return verdict;
  return { ...verdict, message: [verdict.message, ...pending].join('; ') };
}

/**
 * Returns whether a region that was not installed yet works now. A region that may scale to zero needs a cluster but no
 * renderer.
 */
export function hasJoined({ region, wanted, isPending, pods, clusters }: RegionFacts, report: DecidedStatus): boolean {
  const status = report.pending.find(({ name }) => name === regionComponent(region))?.status;
  const isThere = pods.length > 0 || (wanted === 0 && clusters !== null);
  return isPending && isThere && (status === 'operational' || status === 'degraded_performance');
}

const total = (waiting: { interactive: number; background: number } | null) =>
  waiting === null ? 0 : waiting.interactive + waiting.background;

function describe(name: string, { status, message, responseTimeMs }: Verdict, at: number): ComponentStatus {
  return {
    name,
    status,
    ...(responseTimeMs === undefined ? {} : { responseTimeMs: Math.round(responseTimeMs) }),
    message,
    lastCheckedAt: new Date(at).toISOString(),
  };
}

const queueSlowMs = 1000;

/** Decides the state of the queue, which includes the database: nothing works without NATS. */
export function decideQueue(facts: QueueFacts): Verdict {
  if (facts.kind === 'unreachable') return { status: 'major_outage', message: whyUnreachable[facts.why] };
  const responseTimeMs = facts.roundTripMs;
  if (facts.missing.length > 0) {
    const more = facts.missing.length > 3 ? ` and ${facts.missing.length - 3} more` : '';
    return {
      status: 'major_outage',
      message: `missing: ${facts.missing.slice(0, 3).join(', ')}${more}`,
      responseTimeMs,
    };
  }
  if (facts.roundTripMs > queueSlowMs) {
    return {
      status: 'degraded_performance',
      message: `slow: NATS took ${(facts.roundTripMs / 1000).toFixed(1)} s to respond`,
      responseTimeMs,
    };
  }
  return { status: 'operational', message: 'NATS responds', responseTimeMs };
}

const whyUnreachable = {
  'no connection': 'there is no connection to NATS',
  'no answer': 'NATS does not respond in time',
  'no JetStream': 'JetStream is not available on the NATS server',
} as const satisfies Record<(QueueFacts & { kind: 'unreachable' })['why'], string>;

const storageSlowMs = 2000;

/**
 * Decides the state of the file store. Two consecutive failed writes or reads of a test file are an outage. With any other problem,
 * captures are still possible. Returns null before the first test.
 */
export function decideStorage(facts: StorageFacts | null): Verdict | null {
  if (facts === null) return null;
  if (facts.kind === 'works') {
    const responseTimeMs = facts.ms;
    return facts.ms <= storageSlowMs
      ? { status: 'operational', message: 'files are written and read', responseTimeMs }
      : {
          status: 'degraded_performance',
          message: `slow: a test file took ${(facts.ms / 1000).toFixed(1)} s`,
          responseTimeMs,
        };
  }
  const problem = facts.late ? `${operationNames[facts.step]} takes too long` : `${operationNames[facts.step]} fails`;
  const harmless = facts.step === 'remove' || facts.failures < 2;
  return { status: harmless ? 'degraded_performance' : 'major_outage', message: problem };
}

const operationNames = {
  write: 'writing a test file',
  read: 'reading a test file back',
  remove: 'removing a test file',
} as const;

/** Returns the state of a region, the worst of all its facts; null while its renderers are unknown. */
export function decideRegion(facts: RegionFacts): Verdict | null {
  const renderers = judgeClusters(facts) ?? withSilence(judgeRenderers(facts), facts.unreportedForMs);
  // The state of renderers with fresh heartbeats is certain. Only missing renderers are uncertain.
  if (!facts.fleetKnown && renderers.status !== 'operational') return null;
  // A canary capture does not show whether renderers have stopped since.
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

/** Adds how long no cluster has reported the region. Its missing renderers may exist, but be out of contact. */
function withSilence(verdict: Verdict, unreportedForMs: number | null): Verdict {
  if (unreportedForMs === null || verdict.status === 'operational') return verdict;
  return { ...verdict, message: `${verdict.message}; no cluster has reported it for ${duration(unreportedForMs)}` };
}

/** Minimum number of captures in five minutes for a rate or a percentile, because one failure in two captures means little. */
export const minCaptures = 10;

const maxFailedShare = 0.2;
const maxQueueWaitMs = 10_000;

/** Judges a region degraded if more than 20% of its captures of the last five minutes failed with the cause `service`. */
function judgeFailures(pods: readonly RendererHeartbeat[]): Verdict | null {
  const ended = sum(pods.map(({ recent }) => recent.ended));
  const failed = sum(pods.map(({ recent }) => recent.internalFailures));
  if (ended < minCaptures || failed / ended <= maxFailedShare) return null;
  return {
    status: 'degraded_performance',
    message: `${Math.round((failed / ended) * 100)}% of the last ${ended} captures failed because of this service`,
  };
}

/**
 * Judges a region degraded if interactive captures wait for more than 10 s: by the 95th percentile of the last five minutes, or because one
 * has waited that long now. All renderers of a region pull from one queue, so the percentile of the region is the mean of the renderers'
 * percentiles, weighted by interactive captures. Background captures do not count, because no client waits for them.
 */
function judgeQueueWait(pods: readonly RendererHeartbeat[], waiting: PriorityDepths | null): Verdict | null {
  const oldestMs = waiting?.oldestInteractiveMs ?? 0;
  if (oldestMs > maxQueueWaitMs) {
    return { status: 'degraded_performance', message: `a capture has waited ${duration(oldestMs)} for a renderer` };
  }
  const interactive = sum(pods.map(({ recent }) => interactiveOf(recent)));
  const p95Ms = sum(pods.map(({ recent }) => recent.queueWaitP95Ms * interactiveOf(recent))) / Math.max(1, interactive);
  if (interactive < minCaptures || p95Ms <= maxQueueWaitMs) return null;
  return { status: 'degraded_performance', message: `captures wait up to ${duration(p95Ms)} for a renderer` };
}

/** A renderer of an older version does not report the number of interactive captures. */
const interactiveOf = ({ interactive, ended }: RendererHeartbeat['recent']) => interactive ?? ended;

const failuresOfOutage = 2;

/**
 * Judges a region by its canary captures. One failure may be chance; two consecutive failures are an outage. If a canary capture found no
 * free slot, the renderers have not failed; the region is only slow.
 */
function judgeCanary(canary: CanaryFacts | null): Verdict | null {
  if (canary === null) return null;
  if (canary.failures >= failuresOfOutage) {
    const reason = canary.reason === undefined ? '' : ` (${canary.reason.replace(/\.$/, '')})`;
    return { status: 'partial_outage', message: `the last ${canary.failures} canary captures failed${reason}` };
  }
  if (canary.last !== 'no_free_slot') return null;
  return { status: 'degraded_performance', message: 'a canary capture found no free slot in time' };
}

/**
 * Decides the state of the engine. It is a major outage if every region has a major outage, and a partial outage if any region has an
 * outage. Otherwise it is the worst state of the regions. The response time is that of the slowest region.
 */
export function decideEngine(regions: Readonly<Partial<Record<Region, Verdict>>>): Verdict {
  const named = Object.entries(regions);
  if (named.length === 0) return { status: 'major_outage', message: 'no region is installed yet' };
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
