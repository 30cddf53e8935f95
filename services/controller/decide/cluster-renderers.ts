import type { RendererHeartbeat } from '@webcapture/shared/contract/heartbeat.ts';
import type { RegionFacts, RegionInClusters } from '../gather/facts.ts';
import type { RegionPod } from '../kube/cluster-word.ts';
import { byShare, isHealthy, judgeRenderers, maxNamed, whyUnhealthy } from './renderers.ts';
import { duration, type Verdict } from './verdict.ts';

type Facts = Pick<RegionFacts, 'wanted' | 'pods' | 'silent' | 'clusters'>;

/** How many renderers of a region are healthy, and how many there should be. */
export interface Count {
  readonly healthy: number;
  readonly wanted: number;
}

/**
 * What Kubernetes and the heartbeats together say of a region's renderers; null where no cluster speaks of it. Healthy: the
 * pod is Ready, its heartbeat fresh, its browser up. A cluster that cannot be heard is no outage: while one is silent,
 * whoever is healthy by its heartbeat counts, and what was wanted last stays wanted for five minutes.
 */
export function judgeClusters(facts: Facts): Verdict | null {
  const { clusters } = facts;
  if (clusters === null) return null;
  const silence = silenceOf(clusters);
  const count = countRenderers(facts);
  if (count === null) {
    const alone = judgeRenderers(facts);
    return { ...alone, message: [alone.message, ...silence, ...missingOf(clusters)].join('; ') };
  }
  const { healthy, wanted } = count;
  const status = wanted === 0 ? 'operational' : byShare(healthy, wanted);
  const told = wanted === 0 ? tellElastic(healthy) : `${healthy} of ${wanted} renderers healthy`;
  const reasons = [
    ...(healthy < wanted ? whyMissing(facts, clusters, wanted - healthy) : []),
    ...straysOf(facts.pods, clusters),
  ];
  const message = reasons.length === 0 ? told : `${told}: ${reasons.join(', ')}`;
  return { status, message: [message, ...silence, ...missingOf(clusters)].join('; ') };
}

const tellElastic = (healthy: number) =>
  healthy === 0 ? 'scaled to zero' : `${healthy} renderers healthy, scaled to zero within the last minutes`;

/** Null where Kubernetes does not say how many are wanted. */
export function countRenderers({ pods, clusters }: Pick<Facts, 'pods' | 'clusters'>): Count | null {
  if (clusters === null || clusters.wanted === null) return null;
  const known = new Map(clusters.pods.map(({ name, state }) => [name, state]));
  const counts = (pod: string) => {
    const state = known.get(pod);
    return state === undefined ? clusters.silentForMs !== null : state === 'ready';
  };
  const healthy = pods.filter((heartbeat) => isHealthy(heartbeat) && counts(heartbeat.pod)).length;
  return { healthy, wanted: clusters.wanted };
}

function whyMissing({ pods, silent }: Facts, clusters: RegionInClusters, missing: number): string[] {
  const heard = new Map(pods.map((heartbeat) => [heartbeat.pod, heartbeat]));
  const silence = new Map(silent.map(({ pod, forMs }) => [pod, forMs]));
  const listed = new Set(clusters.pods.map(({ name }) => name));
  // While a cluster is silent, only the heartbeats tell of its pods.
  const unlisted =
    clusters.silentForMs === null
      ? []
      : [...heard.keys(), ...silence.keys()]
          .filter((name) => !listed.has(name))
          .map((name): RegionPod => ({ name, state: 'ready' }));
  const reasons = [...clusters.pods, ...unlisted].flatMap((pod) => whyNot(pod, heard.get(pod.name), silence) ?? []);
  const named = reasons.slice(0, Math.min(missing, maxNamed));
  const others = missing - named.length;
  if (others === 0) return named;
  if (named.length > 0) return [...named, `${others} more missing`];
  return [clusters.pods.length === 0 ? 'there is no pod' : `${others} not running`];
}

/** Null when the pod is well, or is leaving in order. */
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
    ? `${name} is Ready, but no heartbeat of it is heard`
    : `${name} has not been heard for ${duration(forMs)}`;
}

/** Heartbeats that no pod sends: captures go there all the same. */
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

function silenceOf({ silentForMs }: RegionInClusters): string[] {
  return silentForMs === null
    ? []
    : [`Kubernetes has not been heard for ${duration(silentForMs)}, so heartbeats alone are counted`];
}

function missingOf({ missing }: RegionInClusters): string[] {
  return missing.map((name) => `the Deployment ${name} is not there`);
}
