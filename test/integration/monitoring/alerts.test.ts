// @module-tag long
import { mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, inject, test } from 'vitest';
import { allMetrics, metricsAsked } from '../../harness/all-metrics.ts';
import { promtool, prometheusSetUpMs } from '../../harness/prometheus.ts';
import { chartFolder, find, helmDeadlineMs, render } from '../../harness/helm.ts';
import { prometheusRules, rulesFile } from '../../../deploy/docs/prometheus-rules.ts';
import type { AlertCase } from './alert-case.ts';
import { alertCases } from './alert-cases.ts';

interface Recording {
  readonly record: string;
  readonly expr: string;
  readonly labels: { readonly namespace: string };
}

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly labels: { readonly severity: string; readonly namespace: string };
  readonly annotations: { readonly summary: string; readonly runbook_url: string };
}

let folder: string;
let recordings: readonly Recording[];
let rules: readonly Rule[];
let spec: { readonly groups: readonly [{ readonly rules: Recording[] }, { readonly rules: Rule[] }] };
beforeAll(async () => {
  folder = await mkdtemp(join(inject('tempFolder'), 'rules-'));
  const values = { monitoring: { prometheusRule: { enabled: true, runbookUrl: 'https://runbooks' } } };
  const rendered = await render(values, ['--show-only', 'templates/monitoring/prometheus-rule.yaml']);
  spec = find(rendered, 'PrometheusRule', 'wc-webcapture')['spec'] as typeof spec;
  await writeFile(join(folder, 'rules.json'), JSON.stringify(spec));
  recordings = spec.groups[0].rules;
  rules = spec.groups[1].rules;
}, helmDeadlineMs);

test(
  'deploy/monitoring/rules.yaml is up to date (npm run docs) and has the same rules as the chart',
  async () => {
    const alerts = await readFile(join(chartFolder, 'files', 'alerts.yaml'), 'utf8');
    expect(prometheusRules(alerts, { namespace: 'ns', runbookUrl: 'https://runbooks' })).toEqual(spec);
    const file = new URL('../../../deploy/monitoring/rules.yaml', import.meta.url);
    const text = await readFile(file, 'utf8');
    expect(text).toBe(rulesFile(alerts));
    expect(text.replaceAll(/^#.*$/gm, '')).not.toMatch(/namespace|\$(?!labels\b)\w/);
    expect(await promtool(['check', 'rules', fileURLToPath(file)])).toBe('');
  },
  prometheusSetUpMs,
);

test(
  'Prometheus accepts the alerts of the chart',
  async () => {
    expect(await promtool(['check', 'rules', join(folder, 'rules.json')])).toBe('');
  },
  prometheusSetUpMs,
);

test(
  'each alert fires with its labels and summary in its case, and not in a similar one',
  async () => {
    expect(new Set(alertCases.map(({ alert }) => alert))).toEqual(new Set(rules.map(({ alert }) => alert)));
    // Each alert has its own file, because promtool evaluates every rule of a file for every case.
    const files = rules.map(async (rule) => {
      const recorded = rule.expr.includes('webcapture:') ? recordings : [];
      const groups = [{ name: 'webcapture', rules: [...recorded, rule] }];
      await writeFile(join(folder, `${rule.alert}.rule.json`), JSON.stringify({ groups }));
      const cases = alertCases.filter(({ alert }) => alert === rule.alert);
      const tests = cases.flatMap((it) => [caseOf(it, it.fires, [expected(it, rule)]), caseOf(it, it.quiet, [])]);
      const path = join(folder, `${rule.alert}.test.json`);
      const rule_files = [`${rule.alert}.rule.json`];
      await writeFile(path, JSON.stringify({ rule_files, evaluation_interval: cases[0]?.every ?? '1m', tests }));
      return path;
    });
    expect(await promtool(['test', 'rules', ...(await Promise.all(files))])).toBe('');
  },
  prometheusSetUpMs,
);

test('each rule selects only its own release, and has its namespace as a label', () => {
  for (const { expr, labels } of [...recordings, ...rules]) {
    expect(labels.namespace).toBe('ns');
    const selectors = expr.match(/\b(?:webcapture|kubelet)[:_][\w:]+(\{[^}]*\})?/g);
    expect(selectors?.filter((selector) => !selector.includes('namespace="ns"'))).toEqual([]);
  }
});

test(
  'an operator can disable single alerts and change their thresholds, times and severities',
  async () => {
    const rule = async (alerts: object) => {
      const values = { monitoring: { prometheusRule: { enabled: true, alerts } } };
      const rendered = await render(values, ['--show-only', 'templates/monitoring/prometheus-rule.yaml']);
      return (find(rendered, 'PrometheusRule', 'wc-webcapture')['spec'] as typeof spec).groups[1].rules;
    };
    const changed = await rule({
      WebcaptureDegraded: { enabled: false },
      WebcaptureFrontSlow: { threshold: 0.5, for: '1h', severity: 'critical' },
    });
    expect(changed).toHaveLength(rules.length - 1);
    expect(changed.find(({ alert }) => alert === 'WebcaptureFrontSlow')).toMatchObject({
      expr: expect.stringMatching(/> 0\.5$/) as unknown,
      for: '1h',
      labels: { severity: 'critical' },
    });
    await expect(rule({ WebcaptureSlow: {} })).rejects.toThrow(
      /there is no alert WebcaptureSlow; the alerts are Webcap/,
    );
  },
  helmDeadlineMs,
);

test(
  'two installations have separate dashboards, and each panel shows the chosen cluster and namespace',
  async () => {
    const dashboardOf = async (namespace: string) => {
      const values = { monitoring: { dashboard: { enabled: true } } };
      const args = ['--show-only', 'templates/monitoring/dashboard.yaml', '--namespace', namespace];
      const { data } = find(await render(values, args), 'ConfigMap', 'wc-webcapture-dashboard') as unknown as {
        data: { 'webcapture.json': string };
      };
      return JSON.parse(data['webcapture.json']) as { uid: string; panels: { targets?: { expr: string }[] }[] };
    };
    const [one, other] = await Promise.all([dashboardOf('one'), dashboardOf('other')]);
    expect(one.uid).toMatch(/^webcapture-[0-9a-f]{12}$/);
    expect(other.uid).not.toBe(one.uid);
    const queries = one.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
    const selectors = queries.flatMap((query) => query.match(/\{[^}]*\}/g) ?? []);
    const chosen = 'cluster=~"$cluster",namespace=~"$namespace"';
    expect(selectors.filter((selector) => !selector.includes(chosen))).toEqual([]);
  },
  helmDeadlineMs,
);

test('each alert has a runbook and a row in the list of runbooks', async () => {
  const pages = new URL('../../../docs/runbooks/', import.meta.url);
  const named = rules.map(({ annotations }) => annotations.runbook_url.replace('https://runbooks/', ''));
  // The fast and the slow alert of an objective have the same runbook.
  expect([...new Set(named)].toSorted()).toEqual(
    (await readdir(pages)).filter((page) => page !== 'README.md').toSorted(),
  );
  const list = (await readFile(new URL('README.md', pages), 'utf8')).matchAll(
    /^\| (Webcapture\w+) +\| (\w+) +\| (\w+) +\| \[.*\]\((.*)\) +\|$/gm,
  );
  expect([...list].map(([, ...cells]) => cells)).toEqual(
    rules.map(({ alert, labels, annotations, ...rule }) => [
      alert,
      labels.severity,
      rule.for,
      annotations.runbook_url.replace('https://runbooks/', ''),
    ]),
  );
});

test('no runbook advises a rollback without the table of versions that allow it', async () => {
  const pages = new URL('../../../docs/runbooks/', import.meta.url);
  for (const name of await readdir(pages)) {
    const text = await readFile(new URL(name, pages), 'utf8');
    expect(text, name).not.toMatch(/helm\b[^`\n]*\brollback/);
    if (/roll(s|ed)? ?back/i.test(text)) expect(text, name).toContain('(../versions.md#roll-back)');
  }
});

test('alerts and the dashboard use only metrics and labels that exist', async () => {
  const text = (name: string) => readFile(join(chartFolder, 'files', name), 'utf8');
  const asked = metricsAsked(`${await text('alerts.yaml')}${(await text('dashboard.json')).replaceAll('\\"', '"')}`);
  expect(asked.length).toBeGreaterThan(60);
  expect(unknownMetrics(asked)).toEqual([]);
});

test(
  'queries of runbooks are valid and use metrics that exist; each runbook has the required sections',
  async () => {
    const folder = new URL('../../../docs/runbooks/', import.meta.url);
    const names = (await readdir(folder)).filter((name) => name !== 'README.md');
    const pages = await Promise.all(names.map((name) => readFile(new URL(name, folder), 'utf8')));
    for (const page of pages) {
      const headings = [...page.matchAll(/^## (.*)$/gm)].map(([, heading]) => heading);
      expect(headings).toEqual(['Query', 'Likely causes, in order', 'Commands', 'It is over when']);
    }
    const blocks = pages.flatMap((page) =>
      [...page.matchAll(/^```promql\n(.*?)^```/gms)].map(([, block = '']) => block),
    );
    const queries = blocks.flatMap((block) => block.trim().split('\n'));
    expect(queries.length).toBeGreaterThan(pages.length);
    expect(unknownMetrics(metricsAsked(queries.join('\n')))).toEqual([]);
    const asRules = queries.map((expr, index) => ({ record: `runbooks:query_${index}`, expr }));
    const file = join(await mkdtemp(join(inject('tempFolder'), 'runbooks-')), 'rules.json');
    await writeFile(file, JSON.stringify({ groups: [{ name: 'runbooks', rules: asRules }] }));
    expect(await promtool(['check', 'rules', file])).toBe('');
  },
  prometheusSetUpMs,
);

/** Returns the requested metrics that no service has, or that no service has with the requested labels. */
function unknownMetrics(asked: ReturnType<typeof metricsAsked>): ReturnType<typeof metricsAsked> {
  const known = new Map(
    Object.values(allMetrics()).flatMap((metrics) => metrics.map(({ name, labels }) => [name, labels] as const)),
  );
  // Labels that Kubernetes and Prometheus add to every series.
  const added = ['cluster', 'namespace', 'pod', 'le'];
  return asked.filter(({ name, labels }) => {
    const own = known.get(name.replace(/_(bucket|count|sum)$/, '')) ?? known.get(name);
    return own === undefined || labels.some((label) => ![...own, ...added].includes(label));
  });
}

function caseOf(
  { alert, after = '20m' }: AlertCase,
  series: Readonly<Record<string, string>>,
  alerts: readonly object[],
): object {
  return {
    interval: '1m',
    input_series: Object.entries(series).map(([name, values]) => ({ series: ofRelease(name), values })),
    alert_rule_test: [{ eval_time: after, alertname: alert, exp_alerts: alerts }],
  };
}

/** Adds the namespace of the release, `ns`, to a series without one. */
function ofRelease(series: string): string {
  if (series.includes('namespace=')) return series;
  const [name = '', labels = ''] = series.split(/[{}]/);
  return `${name}{${['namespace="ns"', labels].filter(Boolean).join(',')}}`;
}

function expected({ labels, summary }: AlertCase, rule: Rule): object {
  return {
    exp_labels: { ...rule.labels, ...labels },
    exp_annotations: { summary, runbook_url: rule.annotations.runbook_url },
  };
}
