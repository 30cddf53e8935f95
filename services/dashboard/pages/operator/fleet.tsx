import type { Overview } from '@webcapture/shared/api/admin.ts';
import { formatDuration, formatNumber } from '../../shell/format.ts';
import { Card } from '../../widgets/card.tsx';
import { type Column, DataTable } from '../../widgets/data-table.tsx';
import { Badge, type Tone } from '../../widgets/figures.tsx';
import { UntrustedText } from '../../widgets/untrusted-text.tsx';

type RegionOverview = Overview['regions'][number];

const tones: Readonly<Record<string, Tone>> = {
  operational: 'good',
  degraded_performance: 'warning',
  partial_outage: 'bad',
  major_outage: 'bad',
};

export function StatusWord({ status }: { readonly status: string }) {
  return <Badge tone={tones[status] ?? 'plain'}>{status.replaceAll('_', ' ')}</Badge>;
}

type ClusterOverview = Overview['clusters'][number];

/** Shows regions with their renderers, slots and queues, and captures in removed regions. */
export function Fleet({ overview: { regions, retired } }: { readonly overview: Overview }) {
  return (
    <>
      {retired.captures > 0 && <Retired retired={retired} />}
      <div class="regions">
        {regions.map((region) => (
          <Region key={region.region} region={region} />
        ))}
      </div>
    </>
  );
}

function Retired({ retired: { captures, regions } }: { readonly retired: Overview['retired'] }) {
  const named = regions.map((region) => `${region.region} (${formatNumber(region.captures)})`).join(', ');
  return (
    <div class="message is-warning" role="status">
      <p>
        {captures === 1 ? '1 capture waits' : `${formatNumber(captures)} captures wait`} in regions that are no longer
        part of the installation: {named}.
      </p>
    </div>
  );
}

/** Shows the clusters. A single cluster without problems adds nothing to the regions, so it is not shown. */
export function Clusters({ overview: { clusters } }: { readonly overview: Overview }) {
  const hasProblem = clusters.some(({ problems, silentForMs }) => problems.length > 0 || silentForMs !== null);
  if (clusters.length <= 1 && !hasProblem) return null;
  return (
    <Card id="clusters" title="Clusters">
      <DataTable
        caption="Clusters of the installation"
        columns={clusterColumns}
        rows={clusters}
        rowKey={({ name }) => name}
        pageSize={20}
      />
    </Card>
  );
}

const clusterColumns: readonly Column<ClusterOverview>[] = [
  { key: 'name', title: 'Cluster', sortBy: ({ name }) => name, render: ({ name }) => <code>{name}</code> },
  {
    key: 'regions',
    title: 'Regions',
    render: ({ regions }) => (regions.length === 0 ? 'None' : regions.join(', ')),
  },
  { key: 'version', title: 'Version', isMinor: true, render: ({ version }) => version },
  {
    key: 'state',
    title: 'State',
    render: ({ silentForMs, problems }) => (
      <>
        {silentForMs !== null ? (
          <Badge tone="bad">no report for {formatDuration(silentForMs)}</Badge>
        ) : problems.length > 0 ? (
          <Badge tone="warning">has problems</Badge>
        ) : (
          <Badge tone="good">reporting</Badge>
        )}
        {problems.map((problem) => (
          <p key={problem}>
            <UntrustedText text={problem} max={500} />
          </p>
        ))}
      </>
    ),
  },
];

function Region({ region }: { readonly region: RegionOverview }) {
  const { region: name, renderers, slots, busy, queued, status, meanRenderMs, pods } = region;
  return (
    <section class="card" aria-label={name}>
      <div class="card-head">
        <h3>{name}</h3>
        <StatusWord status={status} />
      </div>
      <div class="card-body">
        <div class="slots">
          <progress max={Math.max(1, slots)} value={busy} aria-label={`Slots in use in ${name}`} />
          <span>
            {formatNumber(busy)} of {formatNumber(slots)} slots busy
          </span>
        </div>
        <dl class="facts">
          <div>
            <dt>Renderers</dt>
            <dd>{formatNumber(renderers)}</dd>
          </div>
          <div>
            <dt>Waiting</dt>
            <dd>
              {formatNumber(queued.interactive)} interactive, {formatNumber(queued.background)} background
            </dd>
          </div>
          <div>
            <dt>Mean time</dt>
            <dd>{meanRenderMs === null ? '–' : formatDuration(meanRenderMs)}</dd>
          </div>
        </dl>
        {pods.length > 0 && (
          <details>
            <summary>{pods.length === 1 ? '1 renderer' : `${formatNumber(pods.length)} renderers`}</summary>
            <DataTable
              caption={`Renderers of ${name}`}
              columns={podColumns}
              rows={pods}
              rowKey={({ pod }) => pod}
              pageSize={20}
            />
          </details>
        )}
      </div>
    </section>
  );
}

const podColumns: readonly Column<RegionOverview['pods'][number]>[] = [
  { key: 'pod', title: 'Renderer', sortBy: ({ pod }) => pod, render: ({ pod }) => <code>{pod}</code> },
  {
    key: 'slots',
    title: 'Busy',
    align: 'end',
    sortBy: ({ busy }) => busy,
    render: ({ busy, slots }) => `${busy} of ${slots}`,
  },
  { key: 'version', title: 'Version', isMinor: true, render: ({ version }) => version },
  {
    key: 'age',
    title: 'Heartbeat',
    align: 'end',
    sortBy: ({ ageMs }) => ageMs,
    render: ({ ageMs }) => formatDuration(ageMs),
  },
];
