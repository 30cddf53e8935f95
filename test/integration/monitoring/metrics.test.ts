import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import type { ServiceName } from '@webcapture/shared/runtime/service-command.ts';
import { allMetrics, allRegistries, labelValues } from '../../harness/all-metrics.ts';
import { promtool, prometheusSetUpMs } from '../../harness/prometheus.ts';

const services: readonly ServiceName[] = ['front', 'renderer', 'controller'];

describe.each(services)('the metrics of a %s', (service) => {
  test('have names and units as Prometheus recommends', { tags: 'long', timeout: prometheusSetUpMs }, async () => {
    expect(await promtool(['check', 'metrics'], await allRegistries()[service].metrics())).toBe('');
  });

  test('have labels with a closed set of values', () => {
    const open = allMetrics()[service].filter(({ name, labels }) => {
      return name.startsWith('webcapture_') && labels.some((label) => labelValues[label] === undefined);
    });
    expect(open).toEqual([]);
  });
});

const byText = (a: unknown, b: unknown) => String(a).localeCompare(String(b));

test('docs/metrics.md lists every metric with its kind, labels and help, and every label', async () => {
  const page = await readFile(new URL('../../../docs/metrics.md', import.meta.url), 'utf8');
  const labeled = [...page.matchAll(/^\| ((?:`[a-z]+`(?:, )?)+) +\|/gm)].flatMap(([, cell = '']) =>
    cell.match(/[a-z]+/g),
  );
  expect(labeled.toSorted(byText)).toEqual(Object.keys(labelValues).toSorted(byText));
  const rows = [...page.matchAll(/^\| `(webcapture_\w+)` +\|(.*)\|$/gm)];
  const listed = rows.map(([, name = '', cells = '']) => [name, ...cells.split('|').map((cell) => cell.trim())]);
  const metrics = allMetrics();
  const all = new Map(services.flatMap((service) => metrics[service].map((metric) => [metric.name, metric] as const)));
  const wanted = [...all.values()]
    .filter(({ name }) => name.startsWith('webcapture_'))
    .map(({ name, type, labels, help }) => {
      const by = services.filter((service) => metrics[service].some((metric) => metric.name === name));
      const own = labels.filter((label) => label !== 'service').map((label) => `\`${label}\``);
      return [name, by.length === services.length ? 'all' : by.join(', '), type, own.join(', '), help];
    });
  expect(listed.toSorted(byText)).toEqual(wanted.toSorted(byText));
});
