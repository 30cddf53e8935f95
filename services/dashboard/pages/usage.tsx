import type { Usage, UsageHistory } from '@webcapture/client';
import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { formatBytes, formatDuration, formatNumber, formatShare } from '../shell/format.ts';
import { Page } from '../shell/page.tsx';
import { useQuery } from '../shell/query.ts';
import { client } from '../shell/session.ts';
import { Card } from '../widgets/card.tsx';
import { type Column, DataTable } from '../widgets/data-table.tsx';
import { StatTile } from '../widgets/figures.tsx';
import { UntrustedText } from '../widgets/untrusted-text.tsx';
import { PeriodSelect } from '../widgets/period-select.tsx';
import { Below, Loaded } from '../widgets/states.tsx';
import { Ago } from '../widgets/time.tsx';
import { Chart, type Series } from './usage/chart.tsx';
import './usage/usage.css';

const refreshMs = 30_000;

/** Shows the usage of the account and its limits. */
export function UsagePage() {
  const [days, setDays] = useState(30);
  const usage = useQuery((signal) => client().getUsage({ signal }), [], { everyMs: refreshMs });
  const history = useQuery((signal) => client().getUsageHistory({ days, signal }), [days], { everyMs: refreshMs });
  return (
    <Page title="Usage">
      <Loaded query={usage} label="Loading usage…">
        {(data) => <Quota usage={data} />}
      </Loaded>
      <Below query={usage}>
        <div class="section-head">
          <h2>History</h2>
          <PeriodSelect days={days} periods={[7, 30, 90]} onChange={setDays} />
        </div>
        <Loaded query={history} label="Loading the history…">
          {(data) => <History history={data} />}
        </Loaded>
      </Below>
    </Page>
  );
}

function Quota({ usage }: { readonly usage: Usage }) {
  const { tokensUsed, tokensReserved, tokenQuota, periodEnd, ratePerMinute, inFlight, queued } = usage;
  const share = tokenQuota === 0 ? null : (tokensUsed + tokensReserved) / tokenQuota;
  return (
    <>
      <dl class="tiles">
        <StatTile
          label="Tokens this month"
          value={formatNumber(tokensUsed)}
          detail={`of ${formatNumber(tokenQuota)}`}
        />
        <StatTile label="Reserved" value={formatNumber(tokensReserved)} detail="for captures under way" />
        <StatTile label="The month ends" value={<Ago at={periodEnd} />} detail="UTC" />
        <StatTile label="Rate" value={formatNumber(ratePerMinute)} detail="captures per minute" />
        <StatTile label="In flight" value={formatNumber(inFlight)} detail="that clients wait for" />
        <StatTile label="Queued" value={formatNumber(queued)} detail="in the background" />
      </dl>
      <Bytes usage={usage} />
      <div class="quota">
        <progress
          class={share !== null && share >= 0.9 ? 'is-nearly-full' : ''}
          max={Math.max(1, tokenQuota)}
          value={tokensUsed + tokensReserved}
          aria-label="Share of the quota in use"
        />
        <span>{formatShare(share)} of the quota</span>
      </div>
      {share !== null && share >= 0.9 && (
        <div class="message is-warning" role="status">
          <p>
            {share >= 1
              ? 'The quota of this month is used up: captures are refused with QUOTA_EXCEEDED until the month ends.'
              : 'The quota of this month is nearly used up.'}
          </p>
        </div>
      )}
    </>
  );
}

/** Shows the stored bytes of the account and their limits. */
function Bytes({ usage }: { readonly usage: Usage }) {
  const all = [
    { label: 'Queued HTML', used: usage.queuedBytes, max: usage.maxQueuedBytes },
    { label: 'Stored files', used: usage.storedBytes, max: usage.maxStoredBytes },
    { label: 'Persisted files', used: usage.persistedBytes, max: usage.maxPersistedBytes },
    { label: 'In the embedded store', used: usage.embeddedBytes, max: usage.maxEmbeddedBytes },
  ].filter((each): each is typeof each & { readonly max: number } => each.max !== null);
  const full = all.filter(({ used, max }) => used >= 0.9 * max).map(({ label }) => label);
  return (
    <>
      <dl class="tiles">
        {all.map(({ label, used, max }) => (
          <StatTile key={label} label={label} value={formatBytes(used)} detail={`of ${formatBytes(max)}`} />
        ))}
      </dl>
      {full.length > 0 && (
        <div class="message is-warning" role="status">
          <p>Nearly full: {full.join(', ')}. Captures that do not fit are refused with QUOTA_EXCEEDED.</p>
        </div>
      )}
    </>
  );
}

function History({ history: { days, keys, totals } }: { readonly history: UsageHistory }) {
  const dates = useMemo(() => days.map(({ date }) => Date.parse(`${date}T00:00:00Z`) / 1000), [days]);
  const tokens = useMemo<Series[]>(
    () => [{ label: 'Tokens', values: days.map((day) => day.tokens), color: 0 }],
    [days],
  );
  const outcomes = useMemo<Series[]>(
    () => [
      { label: 'Completed', values: days.map(({ completed }) => completed), color: 2 },
      { label: 'Failed', values: days.map(({ failed }) => failed), color: 4 },
      { label: 'From cache', values: days.map(({ cached }) => cached), color: 1 },
    ],
    [days],
  );
  const latencies = useMemo<Series[]>(
    () => [
      { label: 'Median', values: days.map(({ latencyMs }) => latencyMs?.p50 ?? null), color: 0 },
      { label: '90%', values: days.map(({ latencyMs }) => latencyMs?.p90 ?? null), color: 3 },
      { label: '99%', values: days.map(({ latencyMs }) => latencyMs?.p99 ?? null), color: 4 },
    ],
    [days],
  );
  const { latencyMs } = totals;
  return (
    <>
      <dl class="tiles">
        <StatTile label="Tokens" value={formatNumber(totals.tokens)} />
        <StatTile
          label="Success rate"
          value={formatShare(totals.successRate)}
          detail={`${formatNumber(totals.completed)} completed, ${formatNumber(totals.failed)} failed`}
        />
        <StatTile label="From cache" value={formatNumber(totals.cached)} detail="cost nothing" />
        <StatTile
          label="Median latency"
          value={latencyMs === null ? '–' : formatDuration(latencyMs.p50)}
          detail={
            latencyMs === null ? '' : `90%: ${formatDuration(latencyMs.p90)}, 99%: ${formatDuration(latencyMs.p99)}`
          }
        />
      </dl>
      <div class="charts">
        <ChartCard title="Tokens by day">
          <Chart label="Tokens by day" dates={dates} series={tokens} kind="bars" unit="count" />
        </ChartCard>
        <ChartCard title="Captures by outcome">
          <Chart label="Captures by outcome" dates={dates} series={outcomes} kind="lines" unit="count" />
        </ChartCard>
        <ChartCard title="Latency">
          <Chart label="Latency by day" dates={dates} series={latencies} kind="lines" unit="duration" />
        </ChartCard>
      </div>
      <details class="card numbers">
        <summary class="card-head">Show as table</summary>
        <DataTable
          caption="Usage by day"
          columns={dayColumns}
          rows={days}
          rowKey={({ date }) => date}
          initialOrder={{ key: 'date', isDescending: true }}
          pageSize={31}
        />
      </details>
      <Card id="by-key" title="By key">
        <DataTable
          caption="Usage by key"
          columns={keyColumns}
          rows={keys}
          rowKey={({ id }) => id}
          initialOrder={{ key: 'tokens', isDescending: true }}
          empty={<p class="card-body muted">No key was used in this period.</p>}
        />
      </Card>
    </>
  );
}

function ChartCard({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  return (
    <section class="card">
      <div class="card-head">
        <h3>{title}</h3>
      </div>
      <div class="card-body">{children}</div>
    </section>
  );
}

type UsageDay = UsageHistory['days'][number];
type Counts = Pick<UsageDay, 'tokens' | 'completed' | 'failed' | 'cached'>;

const count = (key: keyof Counts, title: string): Column<Counts> => ({
  key,
  title,
  align: 'end',
  sortBy: (row) => row[key],
  render: (row) => formatNumber(row[key]),
});

const counts = [
  count('tokens', 'Tokens'),
  count('completed', 'Completed'),
  count('failed', 'Failed'),
  count('cached', 'From cache'),
];

const dayColumns: readonly Column<UsageDay>[] = [
  {
    key: 'date',
    title: 'Day (UTC)',
    sortBy: ({ date }) => date,
    render: ({ date }) => <time dateTime={date}>{date}</time>,
  },
  ...counts,
  {
    key: 'latency',
    title: 'Latency: median, 90%, 99%',
    align: 'end',
    sortBy: ({ latencyMs }) => latencyMs?.p50 ?? null,
    render: ({ latencyMs }) =>
      latencyMs === null ? '–' : [latencyMs.p50, latencyMs.p90, latencyMs.p99].map(formatDuration).join(', '),
  },
];

const keyColumns: readonly Column<UsageHistory['keys'][number]>[] = [
  {
    key: 'name',
    title: 'Key',
    sortBy: ({ name }) => name,
    render: ({ name }) => <UntrustedText text={name} max={80} />,
  },
  ...counts,
];
