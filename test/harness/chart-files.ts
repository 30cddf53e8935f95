import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';

const read = (name: string) => readFile(new URL(`../../charts/webcapture/files/${name}`, import.meta.url), 'utf8');

interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly threshold?: number;
}

export interface Rules {
  readonly groups: readonly { readonly name: string; readonly rules: readonly Alert[] }[];
}

/** Returns the alerts of the chart for a release in `namespace`, as a rules file for Prometheus. */
export async function alertRules(namespace: string): Promise<Rules> {
  const { rules } = parse(await read('alerts.yaml')) as { rules: readonly Alert[] };
  const alerts = rules.map((rule) => ({
    alert: rule.alert,
    expr: rule.expr.replaceAll('$namespace', namespace).replaceAll('$threshold', String(rule.threshold)),
    for: rule.for,
  }));
  return { groups: [{ name: 'webcapture', rules: alerts }] };
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
