import type { Region } from '@webcapture/shared/contract/regions.ts';
import type { PodState } from './objects.ts';

/** What Kubernetes says of one region in one cluster. */
export interface RegionWord {
  /** The least number of renderers asked for in the last five minutes; null when no Deployment of it is there. */
  readonly wanted: number | null;
  /** Pods by state. */
  readonly pods: readonly RegionPod[];
  /** Deployments that a RenderRegion names and that are not there. */
  readonly missing: readonly string[];
}

export interface RegionPod {
  readonly name: string;
  readonly state: PodState;
  readonly why?: string;
}

/**
 * What the holder of a cluster's Lease says every two seconds, under `cluster.<uid of the Lease>` in the bucket `live`: the
 * fleet's leader may sit in another cluster than the pods.
 */
export interface ClusterWord {
  /** The namespace, for people who look. */
  readonly namespace: string;
  readonly regions: Readonly<Partial<Record<Region, RegionWord>>>;
  /** Unix milliseconds. */
  readonly at: number;
}

export const clusterWordIntervalMs = 2000;
export const clusterWordFreshMs = 5000;

export const clusterKeys = 'cluster.>';
export const clusterKey = (cluster: string) => `cluster.${cluster}`;
