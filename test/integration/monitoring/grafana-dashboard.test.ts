// @module-tag long
import { expect, test } from 'vitest';
import type { ServiceName } from '@webcapture/shared/runtime/service-command.ts';
import { allMetrics, labelValues, type KnownMetric } from '../../harness/all-metrics.ts';
import { dashboardPanels } from '../../harness/chart-files.ts';
import { prometheusSetUpMs, startPrometheus } from '../../harness/prometheus.ts';

/** Length of the samples, which end a minute ago. */
const seconds = 120;
const intervalSeconds = 5;
const end = Math.floor(Date.now() / 1000) - 60;

interface Release {
  readonly cluster: string;
  readonly namespace: string;
  /** Factor for the rate of its counters and the values of its gauges. */
  readonly factor: number;
}

/** A namespace in one cluster, a namespace in two, and another namespace in the second cluster. */
const releases: readonly Release[] = [
  { cluster: 'hub', namespace: 'alone', factor: 3 },
  { cluster: 'hub', namespace: 'both', factor: 3 },
  { cluster: 'satellite', namespace: 'both', factor: 50 },
  { cluster: 'hub', namespace: 'other', factor: 70 },
];

/** Example values of those labels for which the metrics have no list of all values. */
const someValues: Readonly<Record<string, readonly string[]>> = {
  component: ['api', 'engine.us-east'],
  method: ['POST'],
  route: ['/capture'],
  status: ['2xx'],
  event: ['capture.completed'],
};

/** Returns all combinations of a few values of each label. */
function combinations(labels: readonly string[]): readonly Readonly<Record<string, string>>[] {
  return labels.reduce<readonly Readonly<Record<string, string>>[]>(
    (made, label) => {
      const known = labelValues[label];
      const all = someValues[label] ?? (Array.isArray(known) ? (known as readonly string[]) : ['one', 'two']);
      const chosen = all.filter(
        (value, index) => index === 0 || ['completed', 'failed', 'background', 'service'].includes(value),
      );
      return made.flatMap((labeled) => [...new Set(chosen)].map((value) => ({ ...labeled, [label]: value })));
    },
    [{}],
  );
}

/** All metrics of the services, and the Kubernetes metrics that the dashboard shows. */
const metrics: readonly (KnownMetric & { readonly service: string })[] = [
  ...Object.entries(allMetrics()).flatMap(([service, all]) =>
    all.map((metric) => ({ ...metric, service, labels: metric.labels.filter((label) => label !== 'service') })),
  ),
  ...(['front', 'renderer'] satisfies ServiceName[]).flatMap((service) => [
    { name: 'container_memory_working_set_bytes', type: 'gauge', labels: [], help: '', service },
    { name: 'container_cpu_usage_seconds_total', type: 'counter', labels: [], help: '', service },
    { name: 'kube_pod_container_status_restarts_total', type: 'counter', labels: [], help: '', service },
    { name: 'ALERTS', type: 'gauge', labels: ['alertname', 'alertstate'], help: '', service },
  ]),
];

/** Returns the samples of all releases as OpenMetrics. */
function samples(): string {
  const lines = new Map<string, string[]>();
  const times = Array.from({ length: seconds / intervalSeconds + 1 }, (_, index) => index * intervalSeconds);
  for (const { name, type, labels, service } of metrics) {
    for (const { cluster, namespace, factor } of releases) {
      const pod = `wc-${service}-${cluster}`;
      for (const own of combinations(labels)) {
        const named = { ...own, ...(name === 'ALERTS' && { alertname: 'WebcaptureDown', alertstate: 'firing' }) };
        const add = (suffix: string, more: Readonly<Record<string, string>>, at: (time: number) => number) => {
          const all = Object.entries({ ...named, service, container: service, pod, cluster, namespace, ...more });
          const text = all.map(([label, value]) => `${label}="${value}"`).join(',');
          const family = lines.get(name) ?? [];
          lines.set(name, family);
          for (const time of times) family.push(`${name}${suffix}{${text}} ${at(time)} ${end - seconds + time}`);
        };
        const count = (time: number) => factor * time;
        if (type === 'histogram') {
          add('_bucket', { le: '0.5' }, (time) => count(time) / factor);
          add('_bucket', { le: '+Inf' }, count);
          add('_count', {}, count);
        } else add('', {}, type === 'counter' ? count : () => factor);
      }
    }
  }
  const families = [...lines].map(([name, family]) => `# TYPE ${name} unknown\n${family.join('\n')}\n`);
  return `${families.join('')}# EOF\n`;
}

test(
  'each panel of the dashboard shows only the chosen cluster and namespace',
  async () => {
    await using prometheus = await startPrometheus([], { groups: [] }, samples());
    const ask = async (query: string) =>
      (await prometheus.query(query, end))
        .map(({ metric, value }) => `${JSON.stringify(metric)} ${Number(value[1]).toPrecision(6)}`)
        .toSorted();
    const panelsOf = (namespace: string) => dashboardPanels({ cluster: 'hub', namespace, region: '.*' });
    const alone = await panelsOf('alone');
    const both = await panelsOf('both');
    let queries = 0;
    for (const [index, { title, queries: asked }] of both.entries()) {
      for (const [at, query] of asked.entries()) {
        const answer = await ask(query);
        expect(answer, `${title}: ${query}`).not.toEqual([]);
        expect(answer, `${title}: ${query}`).toEqual(await ask(alone[index]?.queries[at] ?? ''));
        queries += 1;
      }
    }
    expect(queries).toBeGreaterThan(50);
    // Without the selection the result differs, as the counters of other clusters are faster.
    const everywhere = await dashboardPanels({ cluster: '.*', namespace: '.*', region: '.*' });
    expect(await ask(everywhere.flatMap((panel) => panel.queries)[2] ?? '')).not.toEqual(
      await ask(alone.flatMap((panel) => panel.queries)[2] ?? ''),
    );
  },
  prometheusSetUpMs,
);
