import type { V1Deployment, V1Pod } from '@kubernetes/client-node';
import { isRegion, type Region } from '@webcapture/shared/runtime/regions.ts';
import type { StatusValue } from '@webcapture/shared/api/status.ts';
import type { PodState } from '../health/cluster-reports.ts';

/** Labels that the chart sets on the objects of a release. */
export const labels = {
  instance: 'app.kubernetes.io/instance',
  component: 'app.kubernetes.io/component',
  region: 'webcapture.dev/region',
} as const;

export const deletionCostKey = 'controller.kubernetes.io/pod-deletion-cost';

/** The fields of a renderer pod that are kept. */
export interface Pod {
  readonly name: string;
  readonly uid: string;
  readonly region: Region;
  readonly state: PodState;
  /** Why the pod is not ready, in the words of the API, such as `CrashLoopBackOff` or `Unschedulable`. */
  readonly why?: string;
  /** Value of the annotation; null if it is missing. */
  readonly deletionCost: number | null;
}

export function keepPod({ metadata = {}, status }: V1Pod): Pod | null {
  const region = metadata.labels?.[labels.region];
  if (region === undefined || !isRegion(region)) return null;
  const ended = metadata.deletionTimestamp !== undefined || status?.phase === 'Failed' || status?.phase === 'Succeeded';
  const ready = status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true;
  const state: PodState = ended ? 'ending' : ready ? 'ready' : 'unready';
  const why = state === 'unready' ? whyUnready(status) : undefined;
  const cost = metadata.annotations?.[deletionCostKey];
  return {
    name: metadata.name ?? '',
    uid: metadata.uid ?? '',
    region,
    state,
    ...(why === undefined ? {} : { why }),
    deletionCost: cost === undefined || !/^-?\d+$/.test(cost) ? null : Number(cost),
  };
}

function whyUnready(status: V1Pod['status']): string | undefined {
  const states = status?.containerStatuses?.map(({ state }) => state?.waiting?.reason ?? state?.terminated?.reason);
  const scheduled = status?.conditions?.find(({ type }) => type === 'PodScheduled');
  return (
    states?.find((reason) => reason !== undefined) ?? (scheduled?.status === 'False' ? scheduled.reason : undefined)
  );
}

export interface Deployment {
  readonly name: string;
  /** Region of its pods; null for Deployments of other components. */
  readonly region: Region | null;
  readonly replicas: number;
  /** Why Kubernetes creates no more of its pods (for example a quota or an admission policy), in the words of Kubernetes. */
  readonly refusal?: string;
}

const maxRefusal = 300;

export function keepDeployment({ metadata = {}, spec, status }: V1Deployment): Deployment {
  const failure = status?.conditions?.find(({ type, status: is }) => type === 'ReplicaFailure' && is === 'True');
  const refusal = failure?.message ?? failure?.reason;
  const region = spec?.template.metadata?.labels?.[labels.region] ?? metadata.labels?.[labels.region];
  return {
    name: metadata.name ?? '',
    region: region !== undefined && isRegion(region) ? region : null,
    replicas: spec?.replicas ?? 1,
    ...(refusal === undefined ? {} : { refusal: refusal.slice(0, maxRefusal) }),
  };
}

/** A condition as the API conventions define it. */
export interface StatusCondition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
  /** When `status` last changed; changes of reason or message do not count. */
  readonly lastTransitionTime: string;
  readonly observedGeneration?: number;
}

/** The status that `kubectl get renderregions` shows; see charts/webcapture/crds/renderregions.yaml. */
export interface RenderRegionStatus {
  readonly status: StatusValue;
  readonly message: string;
  readonly observedGeneration?: number;
  readonly ready: number;
  /** Number of renderers requested now. */
  readonly wanted: number;
  /** Minimum number of renderers requested in the last minutes. It decides the state. */
  readonly expected: number;
  readonly slots: number;
  readonly busy: number;
  readonly queued: number;
  readonly responseTimeMs?: number;
  readonly lastCheckedAt: string;
  readonly conditions: readonly StatusCondition[];
}

export interface RenderRegion {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly generation?: number;
  };
  readonly spec: { readonly region: Region; readonly deployment: string };
  readonly status?: Partial<RenderRegionStatus>;
}

/** The API resource of RenderRegions. */
export const renderRegions = { group: 'webcapture.dev', version: 'v1alpha1', plural: 'renderregions' } as const;

export const renderRegionApi = `${renderRegions.group}/${renderRegions.version}`;
