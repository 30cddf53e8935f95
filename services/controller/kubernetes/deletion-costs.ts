import { CoreV1Api } from '@kubernetes/client-node';
import type { RendererHeartbeat } from '@webcapture/shared/queue/parse-heartbeat.ts';
import type { LatestReading } from '../health/facts.ts';
import type { Term } from '../leader/election.ts';
import { eachOf } from '../loops.ts';
import { isConflict, isNotFound, type KubernetesClient } from './client.ts';
import type { Inventory } from './inventory.ts';
import type { KubernetesMetrics } from './metrics.ts';
import { deletionCostKey, type Pod } from './objects.ts';

/** What scaling down should take first comes out lowest: a pod without heartbeats, then those that are idle. */
const deletionCosts = { unheard: -10, idle: 0, busy: 50, full: 100 } as const;

/** A pod counts as busy for so long after it was: between two captures it is no less needed. */
const quietMs = 20_000;

/** How long its heartbeat must have been missing: a scale-down a moment after a start takes no notice. */
const unheardMs = 15_000;

export interface PodCost {
  readonly name: string;
  readonly cost: number;
}

interface Seen {
  cost: number;
  /** When the cost was last as high as this, on the monotonic clock. */
  at: number;
}

/**
 * What each pod of renderers should cost. It rises at once and falls late, in few steps, so that pods are patched seldom.
 */
export class DeletionCosts {
  readonly #seen = new Map<string, Seen>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** The pods whose cost differs from the one that they carry (null: none), those to be taken first at the front. */
  changes(
    pods: Iterable<{ readonly name: string; readonly deletionCost: number | null }>,
    heartbeats: readonly RendererHeartbeat[],
  ): readonly PodCost[] {
    const heard = new Map(heartbeats.map((heartbeat) => [heartbeat.pod, heartbeat]));
    const changes: PodCost[] = [];
    const names = new Set<string>();
    for (const { name, deletionCost } of pods) {
      names.add(name);
      const cost = this.#costOf(name, heard.get(name));
      // A pod without any costs nothing, which is what an idle one costs.
      if (cost !== (deletionCost ?? deletionCosts.idle)) changes.push({ name, cost });
    }
    for (const name of this.#seen.keys()) if (!names.has(name)) this.#seen.delete(name);
    return changes.toSorted((a, b) => a.cost - b.cost);
  }

  #costOf(name: string, heartbeat: RendererHeartbeat | undefined): number {
    const now = this.#now();
    const current = costNow(heartbeat);
    const seen = this.#seen.get(name);
    if (seen === undefined) {
      // What has just been seen for the first time has not been silent for long.
      const cost = Math.max(current, deletionCosts.idle);
      this.#seen.set(name, { cost, at: now });
      return cost;
    }
    const delayMs = current === deletionCosts.unheard ? unheardMs : quietMs;
    if (current >= seen.cost || now - seen.at >= delayMs) {
      seen.cost = current;
      seen.at = now;
    }
    return seen.cost;
  }
}

function costNow(heartbeat: RendererHeartbeat | undefined): number {
  if (heartbeat === undefined || heartbeat.browser === 'down') return deletionCosts.unheard;
  if (heartbeat.busy === 0) return deletionCosts.idle;
  return heartbeat.busy >= heartbeat.slots ? deletionCosts.full : deletionCosts.busy;
}

export interface CostsParts {
  readonly client: KubernetesClient;
  readonly inventory: Inventory;
  readonly latest: LatestReading;
  readonly costs: DeletionCosts;
  readonly metrics: KubernetesMetrics;
}

/** A large fleet is seen to over several passes: the API server has others to serve. */
const maxAtOnce = 50;
const parallel = 5;

const timeoutMs = 2000;

/** Keeps the pods' deletion cost current, so that scaling down takes idle renderers first. */
export async function applyCosts(parts: CostsParts, term: Term): Promise<void> {
  const reading = parts.latest.get();
  // Without heartbeats an idle renderer cannot be told from a silent one.
  if (reading === null || !reading.facts.regions.every(({ fleetKnown }) => fleetKnown)) return;
  const pods = new Map(
    [...parts.inventory.pods].filter(({ state }) => state !== 'ending').map((pod) => [pod.name, pod]),
  );
  const heartbeats = reading.facts.regions.flatMap((region) => region.pods);
  const changes = parts.costs.changes(pods.values(), heartbeats).slice(0, maxAtOnce);
  await eachOf(changes, parallel, async (change) => {
    const pod = pods.get(change.name);
    if (pod !== undefined && term.holds()) await patch(parts, pod, change);
  });
}

async function patch({ client, metrics }: CostsParts, { name, uid }: Pod, { cost }: PodCost): Promise<void> {
  // The uid: not another pod that has come to that name.
  const body = { metadata: { uid, annotations: { [deletionCostKey]: String(cost) } } };
  try {
    await client.call('annotating a pod', timeoutMs, (api, namespace) =>
      api(CoreV1Api).patchNamespacedPod({ name, namespace, body }),
    );
    metrics.writes.inc({ object: 'pod' });
  } catch (error) {
    if (!isConflict(error) && !isNotFound(error)) throw error;
  }
}
