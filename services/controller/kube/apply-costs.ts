import type { LatestReading } from '../apply/latest-reading.ts';
import type { DeletionCosts, PodCost } from '../decide/deletion-cost.ts';
import type { Term } from '../leader/election.ts';
import { isConflict, isNotFound } from './api-error.ts';
import type { KubeConnection } from './connection.ts';
import type { Inventory } from './inventory.ts';
import type { KubeMetrics } from './metrics.ts';
import { deletionCostKey, type Pod } from './objects.ts';

export interface CostsParts {
  readonly connection: KubeConnection;
  readonly inventory: Inventory;
  readonly latest: LatestReading;
  readonly costs: DeletionCosts;
  readonly metrics: KubeMetrics;
}

/** A large fleet is seen to over several passes: the API server has others to serve. */
const mostAtOnce = 50;
const parallel = 5;

const limitMs = 2000;

/** Keeps the pods' deletion cost current, so that scaling down takes idle renderers first. */
export async function applyCosts(parts: CostsParts, term: Term): Promise<void> {
  const reading = parts.latest.get();
  // Without knowing who is heard, nobody can be told to be idle.
  if (reading === null || !reading.facts.regions.every(({ fleetKnown }) => fleetKnown)) return;
  const pods = new Map(
    [...parts.inventory.pods].filter(({ state }) => state !== 'ending').map((pod) => [pod.name, pod]),
  );
  const heartbeats = reading.facts.regions.flatMap((region) => region.pods);
  const changes = parts.costs.changes(pods.values(), heartbeats).slice(0, mostAtOnce);
  const next = changes.values();
  const work = async () => {
    for (const change of next) {
      const pod = pods.get(change.name);
      if (pod === undefined) continue;
      if (!term.holds()) return;
      await patch(parts, pod, change);
    }
  };
  await Promise.all(Array.from({ length: parallel }, work));
}

async function patch({ connection, metrics }: CostsParts, pod: Pod, { cost }: PodCost): Promise<void> {
  const namespace = await connection.namespace();
  try {
    await connection.request({
      method: 'PATCH',
      path: `/api/v1/namespaces/${namespace}/pods/${pod.name}`,
      // The uid: not another pod that has come to that name.
      body: { metadata: { uid: pod.uid, annotations: { [deletionCostKey]: String(cost) } } },
      limitMs,
    });
    metrics.wrote('pod');
  } catch (error) {
    if (!isConflict(error) && !isNotFound(error)) throw error;
  }
}
