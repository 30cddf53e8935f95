import type { RendererHeartbeat } from '@webcapture/shared/queue/parse-heartbeat.ts';
import type { StatusValue } from '@webcapture/shared/api/status.ts';
import type { RegionInClusters, RegionPod } from './cluster-reports.ts';
import type { RegionFacts } from './facts.ts';
import { duration, type Verdict } from './verdict.ts';

/** Maximum number of renderers that a message names. */
const maxNamed = 3;

/**
 * Judges a region by its number of healthy renderers. A renderer is healthy if its last heartbeat is less than five seconds old, its
 * browser runs, and it is not draining. (A draining renderer takes no captures; a rolling update starts its successor first.)
 */
export function judgeRenderers(facts: Pick<RegionFacts, 'wanted' | 'pods' | 'silent'>): Verdict {
  const healthy = facts.pods.filter(isHealthy).length;
  const wanted = facts.wanted > 0 ? facts.wanted : wantedOfElastic(facts.pods);
  if (wanted === 0) return { status: 'operational', message: 'scaled to zero' };
  const status = byShare(healthy, wanted);
  const count = countText({ healthy, wanted });
  const reasons = healthy < wanted ? whyMissing(facts, wanted - healthy) : [];
  return { status, message: reasons.length === 0 ? count : `${count}: ${reasons.join(', ')}` };
}

/** During a rolling update or a scale-up, the number of healthy renderers can exceed the minimum that was wanted in the window. */
const countText = ({ healthy, wanted }: Count): string =>
  healthy > wanted ? `${healthy} renderers healthy, ${wanted} wanted` : `${healthy} of ${wanted} renderers healthy`;

/** Slots of the renderers that take captures, and the number of busy ones. */
export function capacityOf(pods: readonly RendererHeartbeat[]): { readonly slots: number; readonly busy: number } {
  const serving = pods.filter(({ draining }) => !draining);
  return { slots: sum(serving.map(({ slots }) => slots)), busy: sum(serving.map(({ busy }) => busy)) };
}

export const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);

function isHealthy(pod: RendererHeartbeat): boolean {
  return pod.browser === 'up' && !pod.draining;
}

/** Maps the share of healthy renderers to a status. `wanted` is at least 1. */
export function byShare(healthy: number, wanted: number): StatusValue {
  if (healthy >= wanted * 0.75) return 'operational';
  if (healthy >= wanted * 0.5) return 'degraded_performance';
  return healthy > 0 ? 'partial_outage' : 'major_outage';
}

/** Returns the number of wanted renderers of a region that may scale to zero: its renderers that are not draining. */
function wantedOfElastic(pods: readonly RendererHeartbeat[]): number {
  return pods.filter((pod) => !pod.draining).length;
}

function whyMissing(facts: Pick<RegionFacts, 'pods' | 'silent'>, missing: number): string[] {
  const { pods, silent } = facts;
  const unhealthy = pods.filter((pod) => !isHealthy(pod));
  // Renderers that exist come before those that may no longer exist.
  const known = [
    ...unhealthy.filter(({ draining }) => !draining).map(whyUnhealthy),
    ...silent
      .toSorted((a, b) => a.forMs - b.forMs)
      .map(({ pod, forMs }) => `${pod} has not been heard for ${duration(forMs)}`),
    ...unhealthy.filter(({ draining }) => draining).map(whyUnhealthy),
  ];
  return nameReasons(known, missing, facts.pods.length === 0 ? 'none is running' : null);
}

/** Names the reasons of some missing renderers, and the number of the others. `none` is the reason if there are no pods at all. */
function nameReasons(reasons: readonly string[], missing: number, none: string | null): string[] {
  const named = reasons.slice(0, Math.min(missing, maxNamed));
  const others = missing - named.length;
  if (others === 0) return named;
  return named.length > 0 ? [...named, `${others} more missing`] : [none ?? `${others} not running`];
}

/** Why a renderer with a fresh heartbeat is not healthy. */
const whyUnhealthy = ({ pod, browser }: RendererHeartbeat): string =>
  browser === 'down' ? `${pod} has no working browser` : `${pod} is about to stop`;

type ClusterFacts = Pick<RegionFacts, 'wanted' | 'pods' | 'silent' | 'clusters'>;

/** Number of healthy renderers and number of wanted renderers of a region. */
interface Count {
  readonly healthy: number;
  readonly wanted: number;
}

/**
 * Judges a region's renderers by cluster reports and heartbeats. Returns null if no cluster reports the region. A renderer is healthy if
 * its pod is Ready, its heartbeat is fresh, its browser runs, and it is not draining. A cluster that cannot be reached is not an outage.
 * While it is silent, a fresh heartbeat is sufficient, and the last wanted number is used for five minutes.
 */
export function judgeClusters(facts: ClusterFacts): Verdict | null {
  const { clusters } = facts;
  if (clusters === null) return null;
  const silence = silenceOf(clusters);
  const count = countInClusters(facts);
  if (count === null) {
    const alone = judgeRenderers({ ...facts, silent: silentPodsOf(facts, clusters) });
    return { ...alone, message: [alone.message, ...silence, ...obstaclesOf(clusters)].join('; ') };
  }
  const { healthy, wanted } = count;
  const status = wanted === 0 ? 'operational' : byShare(healthy, wanted);
  const summary = wanted === 0 ? describeElastic(healthy) : countText(count);
  const reasons = [
    ...(healthy < wanted ? whyPodsMissing(facts, clusters, wanted - healthy) : []),
    ...straysOf(facts.pods, clusters),
  ];
  const message = reasons.length === 0 ? summary : `${summary}: ${reasons.join(', ')}`;
  return { status, message: [message, ...silence, ...obstaclesOf(clusters)].join('; ') };
}

const describeElastic = (healthy: number) =>
  healthy === 0 ? 'scaled to zero' : `${healthy} renderers healthy, scaled to zero within the last minutes`;

/** Counts by cluster reports. If Kubernetes does not report the wanted number, counts by heartbeats. */
export const countRenderers = (facts: Pick<ClusterFacts, 'wanted' | 'pods' | 'clusters'>): Count =>
  countInClusters(facts) ?? { healthy: facts.pods.filter(isHealthy).length, wanted: facts.wanted };

/** Returns null if Kubernetes does not report the wanted number. */
function countInClusters({ pods, clusters }: Pick<ClusterFacts, 'pods' | 'clusters'>): Count | null {
  if (clusters === null || clusters.wanted === null) return null;
  const known = new Map(clusters.pods.map(({ name, state }) => [name, state]));
  const counts = (pod: string) => {
    const state = known.get(pod);
    return state === undefined ? clusters.silentForMs !== null : state === 'ready';
  };
  const healthy = pods.filter((heartbeat) => isHealthy(heartbeat) && counts(heartbeat.pod)).length;
  return { healthy, wanted: clusters.wanted };
}

/**
 * Returns the silent renderers whose pods may still exist. A pod that its cluster does not list has been deleted. A pod of a silent cluster
 * exists if the last report lists it, or if its heartbeat is newer than that report.
 */
function silentPodsOf({ silent }: Pick<RegionFacts, 'silent'>, clusters: RegionInClusters): RegionFacts['silent'] {
  const listed = new Set([...clusters.pods.map(({ name }) => name), ...clusters.silentPods]);
  const heardSince = clusters.silentForMs ?? 0;
  return silent.filter(({ pod, forMs }) => listed.has(pod) || forMs < heardSince);
}

function whyPodsMissing(facts: ClusterFacts, clusters: RegionInClusters, missing: number): string[] {
  const { pods } = facts;
  const heard = new Map(pods.map((heartbeat) => [heartbeat.pod, heartbeat]));
  const recentFirst = silentPodsOf(facts, clusters).toSorted((a, b) => a.forMs - b.forMs);
  const silence = new Map(recentFirst.map(({ pod, forMs }) => [pod, forMs]));
  const listed = new Set(clusters.pods.map(({ name }) => name));
  // While a cluster is silent, only heartbeats show its pods.
  const unlisted =
    clusters.silentForMs === null
      ? []
      : [...heard.keys(), ...silence.keys()]
          .filter((name) => !listed.has(name))
          .map((name): RegionPod => ({ name, state: 'ready' }));
  const reasons = [...clusters.pods, ...unlisted].flatMap((pod) => whyNot(pod, heard.get(pod.name), silence) ?? []);
  return nameReasons(reasons, missing, clusters.pods.length === 0 ? 'there is no pod' : null);
}

/** Returns why a pod is not healthy. Returns null for a healthy pod, and for one that is terminating normally. */
function whyNot(
  { name, state, why }: RegionPod,
  heartbeat: RendererHeartbeat | undefined,
  silence: ReadonlyMap<string, number>,
): string | null {
  if (state === 'ending') return null;
  if (state === 'unready') return `${name} is not Ready${why === undefined ? '' : ` (${why})`}`;
  if (heartbeat !== undefined) return isHealthy(heartbeat) ? null : whyUnhealthy(heartbeat);
  const forMs = silence.get(name);
  return forMs === undefined
    ? `${name} is Ready, but sends no heartbeat`
    : `${name} has not been heard for ${duration(forMs)}`;
}

/** Returns the renderers that send heartbeats although no cluster lists their pod. Captures are dispatched to them nevertheless. */
function straysOf(pods: readonly RendererHeartbeat[], clusters: RegionInClusters): string[] {
  if (clusters.silentForMs !== null) return [];
  const known = new Set(clusters.pods.map(({ name }) => name));
  const strays = pods.filter(({ pod, draining }) => !known.has(pod) && !draining).map(({ pod }) => pod);
  if (strays.length === 0) return [];
  const more = strays.length > maxNamed ? ` and ${strays.length - maxNamed} more` : '';
  const named = strays.slice(0, maxNamed).join(', ');
  return [
    `${named}${more} ${strays.length === 1 ? 'sends heartbeats and is' : 'send heartbeats and are'} no pod of the cluster`,
  ];
}

function silenceOf({ silentForMs, silentClusters }: RegionInClusters): string[] {
  if (silentForMs === null) return [];
  const [first, ...others] = silentClusters;
  const more = others.length === 0 ? '' : ` and ${others.length} more`;
  const who = first === undefined ? 'no cluster has been heard' : `the cluster ${first}${more} has not been heard`;
  return [`${who} for ${duration(silentForMs)}, so heartbeats alone are counted`];
}

/** Returns the reasons why Kubernetes creates no renderers or why clusters cannot be distinguished. */
function obstaclesOf({ missing, refused = [], conflicts }: RegionInClusters): string[] {
  return [
    ...missing.map((name) => `the Deployment ${name} does not exist`),
    ...refused.map((words) => `Kubernetes refuses to create pods: ${words}`),
    ...conflicts,
  ];
}
