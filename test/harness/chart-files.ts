import { readFile } from 'node:fs/promises';
import { type PrometheusRules, prometheusRules } from '../../deploy/docs/prometheus-rules.ts';

const read = (name: string) => readFile(new URL(`../../charts/webcapture/files/${name}`, import.meta.url), 'utf8');

/** Returns the rules of the chart for a release in `namespace`, as a rules file for Prometheus. */
export async function chartRules(namespace: string): Promise<PrometheusRules> {
  return prometheusRules(await read('alerts.yaml'), { namespace });
}

export interface Panel {
  readonly title: string;
  /** Fills in the variables like Grafana. */
  readonly queries: readonly string[];
}

const everything = { cluster: '.*', namespace: '.*', region: '.*' } as const;

/**
 * Returns the dashboard panels that have queries. @param chosen the selected values of its lists of clusters, namespaces and
 * regions
 */
export async function dashboardPanels(
  chosen: Readonly<Record<keyof typeof everything, string>> = everything,
): Promise<readonly Panel[]> {
  const { panels } = JSON.parse(await read('dashboard.json')) as {
    panels: readonly { title: string; targets?: readonly { expr: string }[] }[];
  };
  return panels.map(({ title, targets = [] }) => ({
    title,
    queries: targets.map(({ expr }) =>
      expr
        .replaceAll('$__rate_interval', '30s')
        .replaceAll(/\$(cluster|namespace|region)/g, (_, name: keyof typeof everything) => chosen[name]),
    ),
  }));
}
