// @module-tag long
import { expect, test } from 'vitest';
import { chartRules, dashboardPanels } from '../harness/chart-files.ts';
import { prometheusSetUpMs, startPrometheus } from '../harness/prometheus.ts';
import { useFleet, useSite } from '../harness/use.ts';

const fleet = useFleet({});
const site = useSite();

const soon = { timeout: 60_000, interval: 200 };

test(
  'Prometheus scrapes all processes, each dashboard panel shows data, and a healthy fleet raises no alert',
  async () => {
    const { api, fronts, controller, renderers, operational } = fleet();
    const targets = [...fronts, controller, ...renderers].map(({ opsUrl, name }) => ({
      url: opsUrl,
      labels: { pod: name, namespace: 'ns' },
    }));
    const rules = await chartRules('ns');
    await using prometheus = await startPrometheus(targets, rules);
    const values = async (query: string) => (await prometheus.query(query)).map(({ value }) => Number(value[1]));

    // Panels show captures, errors, refusals and cache hits.
    const cached = { url: site().url('/text'), cdnTtl: 61, responseCache: { enabled: true } };
    await api.captured(cached);
    await api.captured(cached);
    await api.captured({ html: '<p>in the background</p>', background: true });
    await api.refused({ url: site().url('/reset') });
    await api.refused({ url: site().url('/color') }, { key: 'unknown-key-unknown-key' });
    // Excluded panels: there is no cluster here, JetStream has no limit, there may be no canary yet, and some panels show data only above
    // 0.
    const absent = /container_|kube_|_kubernetes_|_jetstream_max_bytes|_canary_|_missing_files|> 0$|ALERTS/;
    const panels = await dashboardPanels();
    const empty = async () => {
      const queries = panels.flatMap((panel) => panel.queries.map((query) => ({ title: panel.title, query })));
      const answers = await Promise.all(queries.map(async (it) => ({ ...it, values: await values(it.query) })));
      return answers.filter((it) => it.values.length === 0 && !absent.test(it.query));
    };
    await expect.poll(empty, soon).toEqual([]);

    await operational();
    await expect.poll(() => values('max by (component) (webcapture_component_status)'), soon).toEqual(Array(5).fill(0));
    await expect.poll(() => values('sum(webcapture_controller_leader)'), soon).toEqual([1]);
    // A rule that has not been evaluated yet is silent as well.
    const alerts = rules.groups[1].rules.map(({ alert }) => alert);
    const from = Date.now();
    const evaluated = async () => {
      const all = await prometheus.alertRules();
      return all.filter((it) => it.health === 'ok' && Date.parse(it.lastEvaluation) > from).map(({ name }) => name);
    };
    await expect.poll(evaluated, soon).toEqual(alerts);
    // A capture failed above, the machine may be busy, and the streams of the tests have no limits.
    const others = 'ALERTS{alertname!~"WebcaptureCapturesFail|WebcaptureFrontSlow|WebcaptureStreamUnlimited"}';
    await expect.poll(() => prometheus.query(others), soon).toEqual([]);
  },
  prometheusSetUpMs,
);
