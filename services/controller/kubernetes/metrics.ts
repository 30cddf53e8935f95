import { Gauge, type Registry } from 'prom-client';
import { counterOf, gaugeOf } from '../metrics.ts';
import { apiErrorKinds } from './client.ts';
import { watchedResources, type WatchedResource } from './inventory.ts';
import { restartReasons } from './reflector.ts';

/** Metrics of the controller's work in its cluster. */
export type KubernetesMetrics = ReturnType<typeof createKubernetesMetrics>;

export function createKubernetesMetrics(
  registry: Registry,
  ages: () => Readonly<Record<WatchedResource, number | null>>,
) {
  // Computed at each scrape, because an age increases without an event.
  void new Gauge({
    name: 'webcapture_kubernetes_informer_age_seconds',
    help: 'Time since the API server last sent data about a resource. Absent until the first list.',
    labelNames: ['resource'],
    registers: [registry],
    collect() {
      for (const [resource, ageMs] of Object.entries(ages())) {
        if (ageMs === null) this.remove({ resource });
        else this.set({ resource }, ageMs / 1000);
      }
    },
  });
  return {
    leader: gaugeOf(
      registry,
      'webcapture_kubernetes_leader',
      '1 if this controller holds the Lease of its cluster, otherwise 0.',
    ),
    restarts: counterOf(
      registry,
      'webcapture_kubernetes_watch_restarts_total',
      'Restarts of Kubernetes watches, by resource and reason: expired resource version, error, silence, or periodic relist.',
      { resource: watchedResources, reason: restartReasons },
    ),
    errors: counterOf(
      registry,
      'webcapture_kubernetes_api_errors_total',
      'Failed requests to the Kubernetes API server, by kind of error.',
      { kind: apiErrorKinds },
    ),
    writes: counterOf(
      registry,
      'webcapture_kubernetes_writes_total',
      'Writes to the Kubernetes API, by object: deletion costs of pods, status of RenderRegions, or Events.',
      { object: ['pod', 'renderregion', 'event'] },
    ),
  };
}
