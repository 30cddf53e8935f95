import type { AdminCapture, AdminCapturesQuery, DeadLetter, Overview } from '@webcapture/client';
import { useState } from 'preact/hooks';
import { useEvents } from '../shell/events.ts';
import { formatDuration } from '../shell/format.ts';
import { Page } from '../shell/page.tsx';
import { useQuery } from '../shell/query.ts';
import { client } from '../shell/session.ts';
import { Card } from '../widgets/card.tsx';
import { type Column, DataTable } from '../widgets/data-table.tsx';
import { UntrustedText } from '../widgets/untrusted-text.tsx';
import { LiveMark } from '../widgets/live-mark.tsx';
import { Below, ErrorState, Loaded, Loading } from '../widgets/states.tsx';
import { Ago } from '../widgets/time.tsx';
import { Accounts } from './operator/accounts.tsx';
import { UsageByAccount } from './operator/usage.tsx';
import { Clusters, Fleet, StatusWord } from './operator/fleet.tsx';
import './operator/operator.css';

const refreshMs = 30_000;
/** Poll interval while the event stream is down. */
const pollMs = 10_000;

/** The operator's page: fleet, accounts, failed and slow captures, and dead letters. */
export function OperatorPage() {
  const [latest, setLatest] = useState<Overview>();
  const state = useEvents('admin', setLatest);
  const isLive = state.kind === 'live';
  const polled = useQuery((signal) => client('admin').admin.getOverview({ signal }), [], {
    everyMs: isLive ? undefined : pollMs,
  });
  const overview = [latest, polled.data].reduce((a, b) =>
    a === undefined || (b !== undefined && b.at > a.at) ? b : a,
  );
  return (
    <Page
      title="Operator"
      actions={
        <>
          {overview !== undefined && <StatusWord status={overview.status} />}
          <LiveMark state={state} />
        </>
      }
    >
      <h2 class="visually-hidden">Regions</h2>
      {!isLive && polled.error !== undefined && (
        <ErrorState error={polled.error} retryAt={polled.retryAt} onRetry={polled.reload} />
      )}
      {overview !== undefined ? (
        <Fleet overview={overview} />
      ) : (
        polled.error === undefined && <Loading label="Loading the fleet…" />
      )}
      <Below query={{ data: overview, error: polled.error }}>
        {overview !== undefined && <Clusters overview={overview} />}
        <Accounts />
        <UsageByAccount />
        <Captures
          sort="failed"
          title="Failed captures of the last 24 hours"
          empty="No failed captures in the last 24 hours."
        />
        <Captures
          sort="slowest"
          title="Slowest captures of the last 24 hours"
          empty="No captures in the last 24 hours."
        />
        <DeadLetters />
      </Below>
    </Page>
  );
}

function Captures({
  sort,
  title,
  empty,
}: {
  readonly sort: NonNullable<AdminCapturesQuery['sort']>;
  readonly title: string;
  readonly empty: string;
}) {
  const captures = useQuery((signal) => client('admin').admin.listCaptures({ sort, limit: 20, signal }), [sort], {
    everyMs: refreshMs,
  });
  return (
    <Card id={sort} title={title}>
      <Loaded query={captures} label="Loading captures…">
        {(data) => (
          <DataTable
            caption={title}
            columns={sort === 'failed' ? failedColumns : slowestColumns}
            rows={data}
            rowKey={({ uuid, endedAt }) => `${uuid} ${endedAt}`}
            pageSize={10}
            empty={<p class="card-body muted">{empty}</p>}
          />
        )}
      </Loaded>
    </Card>
  );
}

const host: Column<AdminCapture> = {
  key: 'host',
  title: 'Host',
  sortBy: (capture) => capture.host,
  render: (capture) => (
    <>
      <UntrustedText text={capture.host === 'about:blank' ? 'Supplied HTML' : capture.host} max={60} />
      <br />
      <code class="muted">{capture.uuid}</code>
    </>
  ),
};
const took: Column<AdminCapture> = {
  key: 'took',
  title: 'Duration',
  align: 'end',
  sortBy: ({ durationMs }) => durationMs,
  render: ({ durationMs }) => formatDuration(durationMs),
};
const where: readonly Column<AdminCapture>[] = [
  { key: 'region', title: 'Region', sortBy: ({ region }) => region, render: ({ region }) => region },
  { key: 'account', title: 'Account', isMinor: true, render: ({ account }) => <code>{account}</code> },
  { key: 'ended', title: 'Ended', sortBy: ({ endedAt }) => endedAt, render: ({ endedAt }) => <Ago at={endedAt} /> },
];
const slowestColumns: readonly Column<AdminCapture>[] = [host, took, ...where];
const failedColumns: readonly Column<AdminCapture>[] = [
  host,
  {
    key: 'error',
    title: 'Error',
    sortBy: ({ code }) => code,
    render: ({ code, message }) => (
      <>
        <code>{code}</code>
        <br />
        <UntrustedText text={message ?? ''} max={120} />
      </>
    ),
  },
  took,
  ...where,
];

function DeadLetters() {
  const letters = useQuery((signal) => client('admin').admin.listDeadLetters({ signal }), [], {
    everyMs: refreshMs,
  });
  return (
    <Card id="dead-letters" title="Dead letters">
      <Loaded query={letters} label="Loading dead letters…">
        {(deadLetters) => (
          <DataTable
            caption="Dead letters"
            columns={letterColumns}
            rows={deadLetters}
            rowKey={({ at, uuid }) => `${at} ${uuid}`}
            pageSize={10}
            empty={<p class="card-body muted">No dead letters.</p>}
          />
        )}
      </Loaded>
    </Card>
  );
}

const letterColumns: readonly Column<DeadLetter>[] = [
  { key: 'at', title: 'Failed', sortBy: ({ at }) => at, render: ({ at }) => <Ago at={at} /> },
  { key: 'uuid', title: 'Capture', render: ({ uuid }) => <code>{uuid}</code> },
  { key: 'reason', title: 'Reason', render: ({ reason }) => reason.replaceAll('_', ' ') },
  { key: 'deliveries', title: 'Deliveries', align: 'end', render: ({ deliveries }) => deliveries },
  { key: 'region', title: 'Region', render: ({ region }) => region },
  { key: 'account', title: 'Account', isMinor: true, render: ({ account }) => <code>{account}</code> },
];
