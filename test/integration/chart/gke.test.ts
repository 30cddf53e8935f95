// @module-tag long
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { readControllerConfig } from '../../../services/controller/config.ts';
import { readFrontConfig } from '../../../services/front/config.ts';
import { chartFolder, envOf, find, helmDeadlineMs, podOf, render, type KubeObject } from '../../harness/helm.ts';

const name = (component: string) => `wc-webcapture-${component}`;
const example = async (file: string) =>
  parse(await readFile(join(chartFolder, 'examples/gke', file), 'utf8')) as object;

let hub: readonly KubeObject[];
let onMetric: readonly KubeObject[];
beforeAll(async () => {
  const values = await example('hub.yaml');
  [hub, onMetric] = await Promise.all([
    render(values),
    render({
      regions: [{ name: 'us-east' }, { name: 'eu-west', slots: 1, keda: { minReplicas: 2, maxReplicas: 7 } }],
      keda: { targetPercent: 60, maxBackgroundReplicas: 3, cooldownSeconds: 120 },
      hpa: { enabled: true, regionLabel: 'metric.labels.region', labels: { 'resource.labels.cluster': 'hub' } },
    }),
  ]);
}, helmDeadlineMs);

describe('behind a Gateway of GKE', () => {
  test('fronts have a health check of /healthz at their own port, and 300 s for each request', () => {
    const target = { group: '', kind: 'Service', name: name('front') };
    expect(find(hub, 'HealthCheckPolicy', name('front'))).toMatchObject({
      apiVersion: 'networking.gke.io/v1',
      spec: { targetRef: target, default: { config: { type: 'HTTP', httpHealthCheck: { requestPath: '/healthz' } } } },
    });
    const { config } = find(hub, 'HealthCheckPolicy', name('front'))['spec'].default as {
      config: { httpHealthCheck: { port: number; portSpecification: string } };
    };
    // The load balancer connects to the port of the pods, not of the Service.
    const { PORT } = envOf(find(hub, 'Deployment', name('front')));
    expect([config.httpHealthCheck.portSpecification, String(config.httpHealthCheck.port)]).toEqual([
      'USE_FIXED_PORT',
      PORT,
    ]);
    expect(find(hub, 'GCPBackendPolicy', name('front'))['spec']).toMatchObject({
      targetRef: target,
      default: { timeoutSec: 300, connectionDraining: { drainingTimeoutSec: 270 } },
    });
  });

  test('the HTTPRoute has no timeouts, which GKE refuses, but has them for other Gateways', async () => {
    const rulesOf = (objects: readonly KubeObject[]) =>
      find(objects, 'HTTPRoute', 'wc-webcapture')['spec'].rules as object[];
    expect(rulesOf(hub)).toEqual([{ backendRefs: [{ name: name('front'), port: 80 }] }]);
    const other = await render({ httpRoute: { enabled: true, parentRefs: [{ name: 'any' }] } });
    expect(rulesOf(other)).toMatchObject([{ timeouts: { request: '300s', backendRequest: '300s' } }]);
    expect(other.filter(({ kind }) => kind.endsWith('Policy') && kind !== 'NetworkPolicy')).toEqual([]);
  });

  test('the Gateway of the example accepts the route of the example', async () => {
    const gateway = (await example('gateway.yaml')) as KubeObject;
    const { parentRefs, hostnames } = find(hub, 'HTTPRoute', 'wc-webcapture')['spec'] as {
      parentRefs: { name: string; namespace: string; sectionName: string }[];
      hostnames: string[];
    };
    const listeners = gateway['spec'].listeners as { name: string; hostname: string }[];
    expect(parentRefs).toEqual([
      { name: gateway.metadata.name, namespace: 'gateways', sectionName: listeners[0]?.name },
    ]);
    expect(hostnames).toEqual([listeners[0]?.hostname]);
    const config = readFrontConfig({
      ...envOf(find(hub, 'Deployment', name('front'))),
      WEBCAPTURE_POD: 'p',
      WEBCAPTURE_NATS_PASSWORD: 'x',
    });
    expect(config.publicUrl).toBe(`https://${listeners[0]?.hostname}`);
  });
});

test('each service has its own Google account, and renderers run in a sandbox', () => {
  const accounts = ['front', 'renderer', 'controller'].map(
    (service) => find(hub, 'ServiceAccount', name(service)).metadata.annotations?.['iam.gke.io/gcp-service-account'],
  );
  expect(new Set(accounts).size).toBe(3);
  expect(podOf(find(hub, 'Deployment', name('renderer-us-east')))?.runtimeClassName).toBe('gvisor');
  expect(hub.filter(({ kind }) => kind === 'Secret')).toEqual([]);
});

test('Managed Service for Prometheus reads the metrics of all pods, and evaluates the alerts of the chart', async () => {
  const { selector, endpoints } = find(hub, 'PodMonitoring', 'wc-webcapture')['spec'] as {
    selector: { matchLabels: Record<string, string> };
    endpoints: object[];
  };
  expect(endpoints).toEqual([{ port: 'ops', path: '/metrics', interval: '15s' }]);
  for (const component of ['front', 'controller', 'renderer-us-east']) {
    const { metadata, spec } = find(hub, 'Deployment', name(component))['spec'].template as KubeObject;
    expect(metadata.labels).toMatchObject(selector.matchLabels);
    expect(JSON.stringify(spec)).toContain('"name":"ops"');
  }
  const operator = await render({ monitoring: { prometheusRule: { enabled: true } } });
  expect(find(hub, 'Rules', 'wc-webcapture')['spec']).toEqual(
    find(operator, 'PrometheusRule', 'wc-webcapture')['spec'],
  );
});

describe('a region is scaled', () => {
  const scaled = (objects: readonly KubeObject[]) =>
    find(objects, 'ScaledObject', name('renderer-us-east'))['spec'] as Scaled;
  interface Scaled {
    readonly minReplicaCount: number;
    readonly maxReplicaCount: number;
    readonly fallback?: object;
    readonly triggers: readonly { readonly type: string; readonly metadata: object }[];
  }
  const backgroundSlotsOf = (objects: readonly KubeObject[]) =>
    Object.fromEntries(
      readControllerConfig({
        ...envOf(find(objects, 'Deployment', name('controller'))),
        WEBCAPTURE_POD: 'p',
        WEBCAPTURE_NATS_PASSWORD: 'x',
        KUBERNETES_SERVICE_HOST: '10.96.0.1',
        KUBERNETES_SERVICE_PORT: '443',
      }).backgroundSlots,
    );

  test('between its minimum and maximum, with a higher minimum in hours that the operator names', () => {
    const { minReplicaCount, maxReplicaCount, triggers } = scaled(hub);
    expect([minReplicaCount, maxReplicaCount]).toEqual([3, 60]);
    expect(triggers.map(({ type }) => type)).toEqual(['metrics-api', 'cron']);
    expect(triggers[1]?.metadata).toEqual({
      timezone: 'America/New_York',
      start: '30 7 * * 1-5',
      end: '0 19 * * 1-5',
      desiredReplicas: '12',
    });
  });

  test('by background captures up to their share of renderers, by default half of the maximum', async () => {
    // Renderers × slots × target utilization.
    expect(backgroundSlotsOf(hub)).toEqual({ 'us-east': 12 * 4 * 0.75 });
    expect(backgroundSlotsOf(onMetric)).toEqual({ 'us-east': 3.6, 'eu-west': 1.8 });
    const byDefault = await render({ keda: { enabled: true, minReplicas: 4, maxReplicas: 5, fallback: false } });
    expect(backgroundSlotsOf(byDefault)).toEqual({ 'us-east': 6, 'eu-west': 6 });
    // KEDA before 2.18 accepts this.
    expect([scaled(hub), scaled(byDefault)].map((it) => 'fallback' in it)).toEqual([true, false]);
  });

  test('without KEDA by a HorizontalPodAutoscaler on one series per region', () => {
    expect(find(onMetric, 'HorizontalPodAutoscaler', name('renderer-eu-west'))['spec']).toEqual({
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: name('renderer-eu-west') },
      minReplicas: 2,
      maxReplicas: 7,
      behavior: { scaleDown: { stabilizationWindowSeconds: 120 } },
      metrics: [
        {
          type: 'External',
          external: {
            metric: {
              name: 'webcapture_region_load',
              selector: { matchLabels: { 'metric.labels.region': 'eu-west', 'resource.labels.cluster': 'hub' } },
            },
            target: { type: 'Value', value: '600m' },
          },
        },
      ],
    });
    expect(find(onMetric, 'Deployment', name('renderer-eu-west'))['spec']).not.toHaveProperty('replicas');
    const env = envOf(find(onMetric, 'Deployment', name('controller')));
    expect([env['WEBCAPTURE_REGIONS'], env['WEBCAPTURE_DELETION_COSTS']]).toEqual(['us-east:1,eu-west:2', 'on']);
    expect(JSON.stringify(find(onMetric, 'Role', name('controller')))).toContain('"patch"');
  });

  test('with examples/gke/hpa.yaml by the series of its rule in Managed Service for Prometheus', async () => {
    const objects = await render(await example('hub.yaml'), ['--values', join(chartFolder, 'examples/gke/hpa.yaml')]);
    expect(objects.filter(({ kind }) => kind === 'ScaledObject')).toEqual([]);
    const { groups } = find(objects, 'Rules', 'webcapture-load')['spec'] as {
      groups: { rules: { record: string }[] }[];
    };
    const { metrics } = find(objects, 'HorizontalPodAutoscaler', name('renderer-us-east'))['spec'] as {
      metrics: { external: { metric: { name: string } } }[];
    };
    expect(metrics.map(({ external }) => external.metric.name)).toEqual([
      `prometheus.googleapis.com|${groups[0]?.rules[0]?.record}|gauge`,
    ]);
  });

  test.each<[object, RegExp]>([
    [{ hpa: { enabled: true }, keda: { enabled: true } }, /hpa\.enabled: KEDA makes HorizontalPodAutoscalers itself/],
    [{ hpa: { enabled: true }, keda: { minReplicas: 0 } }, /keda\.minReplicas must be at least 1.*us-east/],
    [{ keda: { schedules: [{ timezone: 'UTC', start: 'at nine', end: '0 18 * * *', replicas: 2 }] } }, /schedules/],
    [{ keda: { maxBackgroundReplicas: 0 } }, /maxBackgroundReplicas/],
  ])('but not with %j', async (values, message) => {
    await expect(render(values)).rejects.toThrow(message);
  });
});
