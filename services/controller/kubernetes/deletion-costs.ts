import { CoreV1Api } from '@kubernetes/client-node';
import type { RendererHeartbeat } from '@webcapture/shared/queue/parse-heartbeat.ts';
import type { LatestReading } from '../health/facts.ts';
import type { Term } from '../leader/election.ts';
import { eachOf } from '../loops.ts';
import { isConflict, isNotFound, type KubernetesClient } from './client.ts';
import type { Inventory } from './inventory.ts';
import type { KubernetesMetrics } from './metrics.ts';
import { deletionCostKey, type Pod } from './objects.ts';

/** Costs of pods. Kubernetes removes the pods with the lowest costs first: pods without heartbeats, then idle pods. */
const deletionCosts = { unheard: -10, idle: 0, busy: 50, full: 100 } as const;

/** Time after its last capture for which a pod counts as busy, so that a pause between captures does not make it idle. */
const quietMs = 20_000;

/** Minimum time without heartbeats, so that a scale-down right after a start does not remove starting pods. */
const unheardMs = 15_000;

export interface PodCost {
  readonly name: string;
  readonly cost: number;
}

interface Seen {
  cost: number;
  /** When the cost was last this high, on the monotonic clock. */
  at: number;
}

/**
 * Computes the deletion cost of each renderer pod. The cost rises immediately, falls late, and has few values, so that pods are rarely
 * patched.
 */
export class DeletionCosts {
  readonly #seen = new Map<string, Seen>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Returns the pods whose cost differs from their annotation, ordered by cost. `deletionCost` is null if a pod has no annotation. */
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
      // A pod without the annotation costs 0, like an idle pod.
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
      // A pod that was seen for the first time just now has not been silent for long.
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

/** Maximum number of patches per pass, so that a large fleet does not load the API server. */
const maxAtOnce = 50;
const parallel = 5;

const timeoutMs = 2000;

/** Keeps the deletion costs of the pods current. Scaling down then removes idle renderers first. */
export async function applyCosts(parts: CostsParts, term: Term): Promise<void> {
  const reading = parts.latest.get();
  // Without heartbeats, idle and silent renderers look the same.
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
  // With the uid, the patch cannot reach a new pod of the same name.
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
