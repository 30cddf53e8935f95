import { historyKey } from '@webcapture/shared/statistics/component-history.ts';
import { type ComponentStatus, type StatusReport, type StatusValue } from '@webcapture/shared/api/status.ts';
import { addSpans, type Span } from '../../../services/controller/health/incidents.ts';
import type { StatusView } from '../../../services/front/status-cache.ts';
import { HistoryCache } from '../../../services/front/plugins/status-page/history-cache.ts';
import { quietReport } from '../../harness/quiet-report.ts';

const minute = 60_000;
const day = 24 * 60 * minute;

/** A problem: the component, the number of hours before now, and the states with their minutes. */
type Trouble = readonly [string, number, readonly (readonly [StatusValue, number, string])[]];

const hostile =
  '<img src=x onerror="document.title=1"><script>document.title=2</script>\u202e\u2066txt.exe &amp; "quoted"';

const troubles: readonly Trouble[] = [
  ['engine.us-east', 83 * 24 + 5, [['major_outage', 42, '0 of 3 renderers healthy: the node pool has no capacity']]],
  ['storage', 71 * 24, [['degraded_performance', 210, 'slow: a test file took 2.6 s']]],
  ['queue', 52 * 24 + 3, [['major_outage', 3, 'there is no connection to NATS']]],
  ['engine.eu-west', 40 * 24, [['degraded_performance', 25, 'captures wait up to 14 s for a renderer']]],
  ['engine.eu-west', 39 * 24, [['degraded_performance', 50, 'captures wait up to 19 s for a renderer']]],
  [
    'engine.us-east',
    20 * 24 + 7,
    [
      ['degraded_performance', 6, '3 of 4 renderers healthy: us-east-7c9d has not been heard for 6 s'],
      ['partial_outage', 25, '1 of 4 renderers healthy: 3 more missing'],
      ['degraded_performance', 14, '3 of 4 renderers healthy: 1 more missing'],
    ],
  ],
  ['storage', 9 * 24 + 2, [['major_outage', 17, `writing a test file fails: ${hostile}`]]],
  ['engine.eu-west', 4 * 24, [['partial_outage', 380, 'the last 2 canary captures failed']]],
  ['engine.eu-west', 28, [['degraded_performance', 33, 'captures wait up to 12 s for a renderer']]],
];

/** A problem that lasts until now. */
const ongoing: Trouble = [
  'engine.us-east',
  0.4,
  [['partial_outage', 24, '1 of 3 renderers healthy: us-east-5d77 is not Ready (OutOfmemory), 1 more missing']],
];

/**
 * Returns the history of a fleet after 87 days, as its recorder would write it, and the current status.
 *
 * @param now Unix milliseconds
 */
export function stageStatus(
  now: number,
  options: { isBroken?: boolean } = {},
): { history: HistoryCache; view: () => StatusView } {
  const all = options.isBroken === true ? [...troubles, ongoing] : troubles;
  const names = ['queue', 'storage', 'engine.us-east', 'engine.eu-west'];
  const history = new HistoryCache();
  const put = (name: string, own: readonly Trouble[]) => {
    const value = addSpans(null, name, spansOf(own, now));
    history.apply({ key: historyKey(name), value });
    return value;
  };
  const components = names.map((name): ComponentStatus => {
    const value = put(
      name,
      all.filter(([component]) => component === name),
    );
    const status = value?.status ?? 'operational';
    const message = status === 'operational' ? 'as it should be' : value?.incidents[0]?.message;
    const responseTimeMs = { queue: 1, storage: 34, 'engine.us-east': 412, 'engine.eu-west': 388 }[name] ?? 0;
    return { name, status, responseTimeMs, message: message ?? '', lastCheckedAt: new Date(now - 1500).toISOString() };
  });
  const regions = all.filter(([component]) => component.startsWith('engine.')).toSorted((a, b) => b[1] - a[1]);
  const engine = put('engine', regions)?.status ?? 'operational';
  const lastCheckedAt = new Date(now - 1500).toISOString();
  components.splice(2, 0, {
    name: 'engine',
    status: engine,
    responseTimeMs: 412,
    message: 'the worst of its regions',
    lastCheckedAt,
  });
  const report: StatusReport = { ...quietReport, components, overall: engine, at: now - 1500 };
  const view = { report, reportAgeMs: 1500, installed: ['us-east', 'eu-west'] as const, natsDownMs: 0, now };
  return { history, view: () => view };
}

/** A night without observations, 33 days ago. */
const blind = { from: 33 * day, to: 33 * day - 9 * 60 * minute };

function spansOf(own: readonly Trouble[], now: number): Span[] {
  const spans: Span[] = [];
  let at = now - 87 * day;
  const add = (status: StatusValue, message: string, to: number) => {
    if (at < now - blind.from && to > now - blind.to) {
      spans.push({ status, message, from: at, to: now - blind.from });
      at = now - blind.to;
    }
    spans.push({ status, message, from: at, to });
    at = to;
  };
  for (const [, hoursAgo, states] of own) {
    add('operational', '', now - hoursAgo * 60 * minute);
    for (const [status, minutes, message] of states) add(status, message, Math.min(now, at + minutes * minute));
  }
  if (at < now) add('operational', '', now);
  return spans;
}
