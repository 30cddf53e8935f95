import type { Metric, Registry } from 'prom-client';
import { deliveryEvents } from '@webcapture/shared/api/webhook.ts';
import { formats } from '@webcapture/shared/api/formats.ts';
import { InFlight } from '../../services/front/capture/regions.ts';
import { settlementOutcomes } from '../../services/front/capture/settlement-outcomes.ts';
import { createCacheMetrics, createFrontMetrics, createIdempotencyMetrics } from '../../services/front/metrics.ts';
import { createBatchMetrics } from '../../services/front/batches/metrics.ts';
import { createComparisonMetrics } from '../../services/front/pictures/picture-comparisons.ts';
import { createMergeMetrics } from '../../services/front/plugins/merge/merges.ts';
import { createScaledPictureMetrics } from '../../services/front/plugins/thumbnails/scaled-pictures.ts';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import type { ServiceName } from '@webcapture/shared/runtime/service-command.ts';
import { regions } from '@webcapture/shared/runtime/regions.ts';
import { createStatisticsMetrics } from '@webcapture/shared/statistics/statistics.ts';
import { errorCodes, failureCauses } from '@webcapture/shared/runtime/errors.ts';
import { createUpstreamMetrics } from '@webcapture/shared/egress/upstream.ts';
import { createStoreMetrics } from '@webcapture/shared/files/measured-store.ts';
import { FleetConfigCheck, fleetFields } from '@webcapture/shared/queue/fleet-config.ts';
import { createHeartbeatFaults } from '@webcapture/shared/queue/fleet.ts';
import { createLogger } from '@webcapture/shared/runtime/logger.ts';
import { createMetrics } from '@webcapture/shared/runtime/ops-server.ts';
import { createControllerMetrics } from '../../services/controller/health/metrics.ts';
import { createAuditMetrics } from '../../services/controller/recovery/audit.ts';
import { createStreamMetrics } from '../../services/controller/jobs/stream-sizes.ts';
import { createKubernetesMetrics } from '../../services/controller/kubernetes/metrics.ts';
import { createWebhookMetrics } from '../../services/controller/jobs/webhooks/deliver.ts';
import { createSatelliteMetrics } from '../../services/controller/satellite.ts';
import { createRendererMetrics } from '../../services/renderer/worker/metrics.ts';
import { wipeOutcomes } from '../../services/renderer/browser/page-wipe.ts';

const silentLog = createLogger({ service: 'test', pod: 'test', level: 'fatal' });

export interface KnownMetric {
  readonly name: string;
  readonly type: string;
  readonly labels: readonly string[];
  readonly help: string;
}

/** The registries of all services, with every metric that they can have, in a cluster or not. The metrics have no values yet. */
export function allRegistries(): Readonly<Record<ServiceName, Registry>> {
  const front = createMetrics('front');
  createFrontMetrics(front, {
    installed: [{ region: 'us-east', minRenderers: 1 }],
    inFlight: new InFlight(),
    statusAgeMs: () => 1000,
    components: () => [],
  });
  createStatisticsMetrics(front);
  createCacheMetrics(front);
  createIdempotencyMetrics(front);
  createBatchMetrics(front);
  createMergeMetrics(front);
  createComparisonMetrics(front);
  createScaledPictureMetrics(front);
  createHeartbeatFaults(front, silentLog);
  void new FleetConfigCheck({}, { registry: front, log: silentLog });
  createStoreMetrics(front);

  const renderer = createMetrics('renderer');
  createRendererMetrics(renderer, { region: 'us-east', slots: 2, busy: () => 1, browserUp: () => true });
  createUpstreamMetrics(renderer);
  createStoreMetrics(renderer);

  const controller = createMetrics('controller');
  createControllerMetrics(controller);
  createStatisticsMetrics(controller);
  createWebhookMetrics(controller, () => 0);
  createAuditMetrics(controller);
  createStreamMetrics(controller);
  createKubernetesMetrics(controller, () => ({ pods: 0, deployments: 0, renderregions: 0 }));
  createHeartbeatFaults(controller, silentLog);
  void new FleetConfigCheck({}, { registry: controller, log: silentLog });
  createSatelliteMetrics(controller);
  createUpstreamMetrics(controller);
  createStoreMetrics(controller);
  return { front, renderer, controller };
}

/** Describes every metric of the services, including those of the runtime. */
export function allMetrics(): Readonly<Record<ServiceName, readonly KnownMetric[]>> {
  const { front, renderer, controller } = allRegistries();
  return { front: describe(front), renderer: describe(renderer), controller: describe(controller) };
}

function describe(registry: Registry): readonly KnownMetric[] {
  return registry.getMetricsAsArray().map((metric) => {
    const { name, help, labelNames } = metric as unknown as Metric & KnownMetric & { labelNames: readonly string[] };
    return { name, help, type: metric.constructor.name.toLowerCase(), labels: ['service', ...labelNames] };
  });
}

const words = /^[a-z]+([A-Z_][a-z]+)*$/;

/** The allowed values of each label: closed sets that clients cannot extend. */
export const labelValues: Readonly<Record<string, readonly string[] | RegExp>> = {
  service: ['front', 'renderer', 'controller'],
  region: [...regions, 'none'],
  format: formats,
  priority: ['interactive', 'background'],
  component: /^(api|queue|storage|engine(\.[a-z-]+)?)$/,
  code: errorCodes,
  cause: [...failureCauses, 'none'],
  outcome: [
    ...errorCodes,
    // Captures, then results, then store calls and tasks, then webhooks.
    'completed',
    'queued',
    'client_gone',
    ...settlementOutcomes,
    'ok',
    'done',
    'failed',
    'delivered',
    'retried',
    'given_up',
    // Usage statistics.
    'dropped',
    ...wipeOutcomes,
  ],
  method: /^([A-Z]+|other)$/,
  // A registered route contains the names of its parameters, not their values.
  route: /^(none|(\/[a-z:.*-]*)+)$/,
  status: /^[1-5]xx$/,
  stream: Object.values(streamNames),
  storage: ['file'],
  field: fleetFields,
  event: deliveryEvents,
  ...Object.fromEntries(
    ['result', 'operation', 'failure', 'limit', 'reason', 'kind', 'resource', 'object', 'why'].map((name) => [
      name,
      words,
    ]),
  ),
};

/** Returns the samples of our metrics whose labels have values outside of the allowed sets. */
export function openLabels(text: string): readonly string[] {
  return text.split('\n').filter((line) => {
    const labels = /^webcapture_\w+\{(.*)\} /.exec(line)?.[1];
    return [...(labels ?? '').matchAll(/(\w+)="([^"]*)"/g)].some(([, name = '', value = '']) => {
      const allowed = name === 'le' ? /^[\d.+Inf]+$/ : labelValues[name];
      return allowed instanceof RegExp ? !allowed.test(value) : allowed?.includes(value) !== true;
    });
  });
}

/** Returns our metrics that Prometheus expressions use, and the labels that they select by. */
export function metricsAsked(text: string): readonly { readonly name: string; readonly labels: readonly string[] }[] {
  const found = text.matchAll(/\b((?:webcapture|process|nodejs)_[a-z0-9_]+)(?:\{([^}]*)\})?/g);
  return [...found].map(([, name = '', matchers = '']) => ({
    name,
    labels: [...matchers.matchAll(/(\w+)\s*[=!]~?"/g)].map(([, label = '']) => label),
  }));
}
