import type { Capture, CaptureHistory } from '@webcapture/client';
import { formatBytes, formatDuration, formatShare } from '../../shell/format.ts';
import type { Query } from '../../shell/query.ts';
import { Deliveries, Redeliver } from '../../views/deliveries.tsx';
import { Card } from '../../widgets/card.tsx';
import { type Column, DataTable } from '../../widgets/data-table.tsx';
import { Badge } from '../../widgets/figures.tsx';
import { Loaded } from '../../widgets/states.tsx';
import { Ago } from '../../widgets/time.tsx';
import { UntrustedText } from '../../widgets/untrusted-text.tsx';

/** The refreshes and webhook deliveries of a capture. */
export function History({
  capture,
  history,
  onChanged,
}: {
  readonly capture: Capture;
  readonly history: Query<CaptureHistory>;
  readonly onChanged: () => void;
}) {
  const webhook = 'webhook' in capture ? capture.webhook : undefined;
  const isDeliverable = webhook !== undefined && webhook.event !== null && webhook.state !== 'pending';
  return (
    <Loaded query={history} label="Loading the history…">
      {({ refreshes, deliveries }) => (
        <>
          {refreshes.length > 0 && (
            <Card id="refreshes" title="Refreshes">
              <DataTable
                caption="Refreshes"
                columns={refreshColumns}
                rows={refreshes}
                rowKey={({ number }) => String(number)}
              />
            </Card>
          )}
          {(webhook !== undefined || deliveries.length > 0) && (
            <Card
              id="deliveries"
              title="Webhook deliveries"
              aside={isDeliverable && <Redeliver uuid={capture.uuid} onDone={onChanged} />}
            >
              <Deliveries
                deliveries={deliveries}
                onRedeliver={onChanged}
                empty={<p class="card-body muted">No deliveries yet.</p>}
              />
            </Card>
          )}
        </>
      )}
    </Loaded>
  );
}

const refreshColumns: readonly Column<CaptureHistory['refreshes'][number]>[] = [
  { key: 'number', title: 'Refresh', render: ({ number }) => `#${number}` },
  {
    key: 'state',
    title: 'State',
    render: ({ state, error }) => (
      <>
        <Badge tone={state === 'completed' ? 'good' : state === 'failed' ? 'bad' : 'busy'}>{state}</Badge>{' '}
        {error !== null && <UntrustedText text={error.message} max={120} />}
      </>
    ),
  },
  { key: 'by', title: 'Requested by', render: ({ by }) => by, isMinor: true },
  { key: 'accepted', title: 'Accepted', render: ({ acceptedAt }) => <Ago at={acceptedAt} /> },
  {
    key: 'took',
    title: 'Duration',
    align: 'end',
    isMinor: true,
    render: ({ acceptedAt, endedAt }) =>
      endedAt === null ? '–' : formatDuration(Math.max(0, Date.parse(endedAt) - Date.parse(acceptedAt))),
  },
  {
    key: 'changed',
    title: 'Changed',
    align: 'end',
    render: ({ comparison }) => formatShare(comparison?.changedShare ?? null),
  },
  {
    key: 'file',
    title: 'File',
    align: 'end',
    render: ({ width, height, fileSizeBytes }) =>
      width === null || height === null || fileSizeBytes === null
        ? '–'
        : `${width} × ${height}, ${formatBytes(fileSizeBytes)}`,
  },
];
