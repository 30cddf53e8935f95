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

/** The alerts of the chart for a release in `namespace`, as a file of rules for Prometheus. */
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
  /** With the variables as Grafana fills them in. */
  readonly queries: readonly string[];
}

const everything = { cluster: '.*', namespace: '.*', region: '.*' } as const;

/** The panels of the dashboard that ask something. @param chosen in its lists of clusters, namespaces and regions */
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
