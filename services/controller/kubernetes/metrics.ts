import { Counter, Gauge, type Registry } from 'prom-client';
import { apiErrorKinds, type ApiErrorKind } from './client.ts';
import { watchedResources, type WatchedResource } from './inventory.ts';
import { restartReasons, type RestartReason } from './reflector.ts';

/** The metrics of the controller's work in its cluster. Labels come from closed sets. */
export class KubernetesMetrics {
  readonly #leader: Gauge;
  readonly #restarts: Counter<'resource' | 'reason'>;
  readonly #errors: Counter<'kind'>;
  readonly #writes: Counter<'object'>;

  constructor(registry: Registry, ages: () => Readonly<Record<WatchedResource, number | null>>) {
    const registers = [registry];
    this.#leader = new Gauge({
      name: 'webcapture_kubernetes_leader',
      help: '1 if this controller holds the Lease of its cluster, otherwise 0.',
      registers,
    });
    this.#restarts = new Counter({
      name: 'webcapture_kubernetes_watch_restarts_total',
      help: 'Restarts of Kubernetes watches, by resource and reason: expired resource version, error, silence, or periodic relist.',
      labelNames: ['resource', 'reason'],
      registers,
    });
    for (const resource of watchedResources) {
      for (const reason of restartReasons) this.#restarts.inc({ resource, reason }, 0);
    }
    this.#errors = new Counter({
      name: 'webcapture_kubernetes_api_errors_total',
      help: 'Failed requests to the Kubernetes API server, by kind of error.',
      labelNames: ['kind'],
      registers,
    });
    for (const kind of apiErrorKinds) this.#errors.inc({ kind }, 0);
    this.#writes = new Counter({
      name: 'webcapture_kubernetes_writes_total',
      help: 'Writes to the Kubernetes API, by object: deletion costs of pods, status of RenderRegions, or Events.',
      labelNames: ['object'],
      registers,
    });
    for (const object of ['pod', 'renderregion', 'event'] as const) this.#writes.inc({ object }, 0);
    // Read when it is asked for: it grows by itself.
    void new Gauge({
      name: 'webcapture_kubernetes_informer_age_seconds',
      help: 'Time since the API server last sent data about a resource. Absent until the first list.',
      labelNames: ['resource'],
      registers,
      collect() {
        for (const [resource, ageMs] of Object.entries(ages())) {
          if (ageMs === null) this.remove({ resource });
          else this.set({ resource }, ageMs / 1000);
        }
      },
    });
  }

  leader(leading: boolean): void {
    this.#leader.set(leading ? 1 : 0);
  }

  restart(resource: WatchedResource, reason: RestartReason): void {
    this.#restarts.inc({ resource, reason });
  }

  error(kind: ApiErrorKind): void {
    this.#errors.inc({ kind });
  }

  wrote(object: 'pod' | 'renderregion' | 'event'): void {
    this.#writes.inc({ object });
  }
}
