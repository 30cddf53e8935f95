import { AppsV1Api, CoreV1Api, CustomObjectsApi, type V1Deployment, type V1Pod } from '@kubernetes/client-node';
import type { Region } from '@webcapture/shared/runtime/regions.ts';
import { version } from '@webcapture/shared/runtime/run-service.ts';
import { LeastWanted, type ClusterReport, type RegionReport } from '../health/cluster-reports.ts';
import {
  keepDeployment,
  keepPod,
  labels,
  renderRegionApi,
  renderRegions,
  type Deployment,
  type Pod,
  type RenderRegion,
} from './objects.ts';
import { Reflector, type Collection, type ReflectorOptions, type RestartReason } from './reflector.ts';

/** A closed set, for metrics. */
export const watchedResources = ['pods', 'deployments', 'renderregions'] as const;
export type WatchedResource = (typeof watchedResources)[number];

export const podCollection: Collection<V1Pod> = {
  list: (api, query) => api(CoreV1Api).listNamespacedPod(query),
  path: (namespace) => `/api/v1/namespaces/${namespace}/pods`,
};

const deploymentCollection: Collection<V1Deployment> = {
  list: (api, query) => api(AppsV1Api).listNamespacedDeployment(query),
  path: (namespace) => `/apis/apps/v1/namespaces/${namespace}/deployments`,
};

const renderRegionCollection: Collection<RenderRegion> = {
  list: async (api, query) => {
    const answer: unknown = await api(CustomObjectsApi).listNamespacedCustomObject({ ...renderRegions, ...query });
    const { items, metadata } = answer as {
      items: RenderRegion[];
      metadata: { resourceVersion: string; continue?: string };
    };
    // Objects without a class in the library keep the names of the API.
    const { continue: _continue = '', resourceVersion } = metadata;
    return { items, metadata: { resourceVersion, _continue } };
  },
  path: (namespace) => `/apis/${renderRegionApi}/namespaces/${namespace}/${renderRegions.plural}`,
};

interface InventoryOptions extends Pick<ReflectorOptions<never, never>, 'client' | 'log' | 'onChange' | 'times'> {
  readonly release: string;
  readonly onRestart?: (resource: WatchedResource, reason: RestartReason) => void;
  /** Time limit for the first list of the regions; default 10 s. */
  readonly startTimeoutMs?: number;
  /** The server's clock in Unix ms. It is used because other controllers wrote the times in the resources. */
  readonly now: () => number;
}

/** Maximum age of usable data. A watch normally ends much earlier. */
const maxAgeMs = 30_000;

/** Everything of a release in this cluster: renderer pods, their Deployments, and RenderRegions. */
export class Inventory {
  readonly #pods: Reflector<V1Pod, Pod>;
  readonly #deployments: Reflector<V1Deployment, Deployment>;
  readonly #regions: Reflector<RenderRegion, RenderRegion>;
  readonly #least = new LeastWanted();
  readonly #startedAt = performance.now();
  readonly #startTimeoutMs: number;
  readonly #now: () => number;
  #remembered = false;

  constructor(options: InventoryOptions) {
    this.#startTimeoutMs = options.startTimeoutMs ?? 10_000;
    this.#now = options.now;
    const instance = `${labels.instance}=${options.release}`;
    const common = (resource: WatchedResource) => ({
      ...options,
      resource,
      onRestart: (reason: RestartReason) => options.onRestart?.(resource, reason),
    });
    this.#pods = new Reflector({
      ...common('pods'),
      collection: podCollection,
      labelSelector: `${instance},${labels.component}=renderer`,
      keep: keepPod,
    });
    this.#deployments = new Reflector({
      ...common('deployments'),
      collection: deploymentCollection,
      labelSelector: instance,
      keep: keepDeployment,
    });
    this.#regions = new Reflector<RenderRegion, RenderRegion>({
      ...common('renderregions'),
      collection: renderRegionCollection,
      labelSelector: instance,
      keep: (region) => region,
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#pods.run(signal), this.#deployments.run(signal), this.#regions.run(signal)]);
  }

  /** Milliseconds since the API server last sent data about each resource; null before the first time. */
  get ages(): Readonly<Record<WatchedResource, number | null>> {
    return { pods: this.#pods.ageMs, deployments: this.#deployments.ageMs, renderregions: this.#regions.ageMs };
  }

  /**
   * Whether everything was listed recently. A resource whose definition is not installed cannot be listed, and is waited for only at the
   * start.
   */
  get isCurrent(): boolean {
    const { pods, deployments, renderregions } = this.ages;
    const isFresh = (ageMs: number | null) => ageMs !== null && ageMs <= maxAgeMs;
    const waited = performance.now() - this.#startedAt > this.#startTimeoutMs;
    return isFresh(pods) && isFresh(deployments) && (renderregions !== null || waited);
  }

  get pods(): Iterable<Pod> {
    return this.#pods.objects.values();
  }

  get regions(): Iterable<RenderRegion> {
    return this.#regions.objects.values();
  }

  /** Returns the report about this cluster; null if not enough is known yet. */
  report({ cluster, namespace }: { readonly cluster: string; readonly namespace: string }): ClusterReport | null {
    if (!this.isCurrent) return null;
    this.#rememberWanted();
    const regions: Partial<Record<Region, RegionReport>> = {};
    const podsOf = Map.groupBy(this.pods, ({ region }) => region);
    const named = Map.groupBy(this.regions, ({ spec }) => spec.region);
    const makersOf = this.#deploymentsByRegion(named);
    for (const region of new Set([...makersOf.keys(), ...podsOf.keys(), ...named.keys()])) {
      const makers = makersOf.get(region);
      const replicas = makers?.reduce((sum, each) => sum + each.replicas, 0);
      const refused = makers?.flatMap(({ refusal }) => refusal ?? []) ?? [];
      regions[region] = {
        wanted: replicas === undefined ? null : this.#least.note(region, replicas),
        asked: replicas ?? null,
        ...(refused.length === 0 ? {} : { refused }),
        pods: (podsOf.get(region) ?? []).map(({ name, state, why }) => ({
          name,
          state,
          ...(why === undefined ? {} : { why }),
        })),
        missing: (named.get(region) ?? [])
          .map(({ spec }) => spec.deployment)
          .filter((deployment) => !this.#deployments.objects.has(deployment)),
      };
    }
    return { cluster, namespace, version, regions, at: this.#now() };
  }

  /** Returns the Deployments of each region: those that its RenderRegions name, otherwise those with its label. */
  #deploymentsByRegion(
    named: ReadonlyMap<Region, readonly RenderRegion[]>,
  ): ReadonlyMap<Region, readonly Deployment[]> {
    const labeled = [...this.#deployments.objects.values()].filter(({ region }) => region !== null);
    const makers = new Map<Region, readonly Deployment[]>(Map.groupBy(labeled, ({ region }) => region as Region));
    for (const [region, resources] of named) {
      const found = resources.flatMap(({ spec }) => this.#deployments.objects.get(spec.deployment) ?? []);
      if (found.length > 0) makers.set(region, [...new Set(found)]);
    }
    return makers;
  }

  /** A new controller continues from the values that its predecessor wrote into the resources. */
  #rememberWanted(): void {
    if (this.#remembered) return;
    this.#remembered = true;
    for (const { spec, status } of this.regions) {
      // Version 0.1 wrote the minimum as `wanted`.
      const least = status?.expected ?? status?.wanted;
      if (least === undefined || status?.lastCheckedAt === undefined) continue;
      this.#least.remember(spec.region, least, this.#now() - Date.parse(status.lastCheckedAt));
    }
  }
}
